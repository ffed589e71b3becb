"""Apache Kafka in KRaft mode, from its released artifacts."""

from clusters.kafka.system import KafkaOptions, System

__all__ = ["KafkaOptions", "System"]
