"""Apache Pulsar with ZooKeeper and BookKeeper, from their released artifacts."""

from clusters.pulsar.settings import PulsarOptions
from clusters.pulsar.system import PulsarSystem

__all__ = ["PulsarOptions", "PulsarSystem"]
