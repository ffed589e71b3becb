"""Upgrades of Kafka, host by host."""

from __future__ import annotations

from chaoskit.contract.hosts.host import ServiceHost
from clusters.kafka.deploy.nodes import KafkaNodes
from clusters.kafka.operate.operator import KafkaOperator


class Upgrader:
    """The power `Upgrade` of `chaoskit.contract.systems.service`."""

    def __init__(self, nodes: KafkaNodes, operator: KafkaOperator) -> None:
        self._nodes = nodes
        self._operator = operator

    def release_of(self, host: ServiceHost) -> str:
        return self._nodes.release_of(host)

    def install_release(self, host: ServiceHost, version: str) -> None:
        self._nodes.install_release(host, version)

    def finish_upgrade(self, version: str) -> str:
        return self._operator.finish_upgrade(version)
