"""Histories of Jepsen's Kafka workload (jepsen.tests.kafka), read and written as EDN."""
