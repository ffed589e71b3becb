"""Kafka on hosts: processes, readiness, settings in effect."""
