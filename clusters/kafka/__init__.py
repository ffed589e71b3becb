"""Apache Kafka, in KRaft mode or with ZooKeeper, from its released artifacts."""

from clusters.kafka.settings import KafkaOptions
from clusters.kafka.system import KafkaSystem

__all__ = ["KafkaOptions", "KafkaSystem"]
