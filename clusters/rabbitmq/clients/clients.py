"""RabbitMQ's clients, for worker processes: pika for queues, rstream for streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.power import P, held
from clusters.rabbitmq.clients.consumer import RabbitConsumer
from clusters.rabbitmq.clients.publisher import RabbitPublisher
from clusters.rabbitmq.connection import ADDRESSES, CLIENTS, LAB, LOGIN, ROUTES, Addresses
from clusters.rabbitmq.deploy.attachment import login_of
from clusters.rabbitmq.routing import Route
from clusters.rabbitmq.settings import AMQP_PORT
from clusters.rabbitmq.streams.consumer import StreamAuditor
from clusters.rabbitmq.streams.library import LibraryProducer
from clusters.rabbitmq.streams.member import StreamMember
from clusters.rabbitmq.streams.names import NAMED
from clusters.rabbitmq.streams.publisher import StreamPublisher
from clusters.rabbitmq.traffic.observer import RabbitTraffic


class RabbitClients:
    """The powers `QueueClients`, `QueueApplicationClients`, `LogClients` and `SequencedClients` of
    `chaoskit.contract.clients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._addresses: list[str] = connection[ADDRESSES]
        self._clients: str = connection.get(CLIENTS, "default")
        self._login = login_of(connection[LOGIN]) if LOGIN in connection else LAB
        self._routes = {name: Route(*route) for name, route in connection[ROUTES].items()}

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "RabbitMQ's client")

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> RabbitPublisher:
        addresses = Addresses(self._addresses, index, self._login)
        return RabbitPublisher(settings, addresses, completed, publishing, self._routes)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> RabbitConsumer:
        return RabbitConsumer(settings, Addresses(self._addresses, index, self._login), prefetch)

    def traffic(self, hosts: Sequence[str]) -> RabbitTraffic:
        return RabbitTraffic(hosts, AMQP_PORT)

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> StreamPublisher | LibraryProducer:
        if self._clients == "rstream":
            return LibraryProducer(self._addresses[0], settings, completed)
        return self.prober(settings, completed)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> StreamPublisher:
        return StreamPublisher(self._addresses, settings, completed)

    def sequenced_producer(self, settings: Mapping[str, Any], name: str, completed: Completed) -> StreamPublisher:
        return StreamPublisher(self._addresses, settings, completed, name if settings.get(NAMED, True) else "")

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> StreamMember:
        return StreamMember(self._addresses, settings, f"chaoskit-{group}" if group else "chaoskit")

    def auditor(self, settings: Mapping[str, Any]) -> StreamAuditor:
        return StreamAuditor(self._addresses, settings)
