"""RabbitMQ's clients, for worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.client import Completed
from chaoskit.contract.power import P, held
from clusters.rabbitmq.connection import Addresses
from clusters.rabbitmq.consumer import RabbitConsumer
from clusters.rabbitmq.deploy import ADDRESSES
from clusters.rabbitmq.publisher import RabbitPublisher


class RabbitClients:
    """The power `QueueClients` of `chaoskit.contract.client`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._addresses: list[str] = connection[ADDRESSES]

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "RabbitMQ's client")

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, *, confirms: bool, persistent: bool
    ) -> RabbitPublisher:
        addresses = Addresses(self._addresses, index)
        return RabbitPublisher(settings, addresses, completed, confirms=confirms, persistent=persistent)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> RabbitConsumer:
        return RabbitConsumer(settings, Addresses(self._addresses, index), prefetch)
