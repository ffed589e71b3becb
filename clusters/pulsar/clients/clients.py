"""Pulsar's clients, for worker processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.power import P, held
from chaoskit.model.place import Place
from clusters.pulsar.clients.application import PulsarRecordReader, PulsarSubscriptionObserver
from clusters.pulsar.clients.consumer import PulsarAuditor, PulsarConsumer
from clusters.pulsar.clients.producer import PulsarProducer
from clusters.pulsar.clients.queue_consumer import PulsarQueueConsumer
from clusters.pulsar.clients.queue_publisher import PulsarPublisher
from clusters.pulsar.clients.sequenced import PulsarSequencedProducer
from clusters.pulsar.clients.subscriber import PulsarSubscriber


class PulsarClients:
    """The powers `LogClients`, `SeekingClients`, `DeletingClients`, `SequencedClients` and `SubscribingClients` of
    `chaoskit.contract.clients.client`, and `QueueClients` and `ApplicationClients` of `chaoskit.contract.clients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Pulsar's client")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> PulsarProducer:
        return PulsarProducer(self._connection, settings, completed)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> PulsarProducer:
        return self.producer(settings, completed)

    def sequenced_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> PulsarSequencedProducer:
        return PulsarSequencedProducer(self._connection, settings, name, completed)

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> PulsarConsumer:
        return PulsarConsumer(self._connection, settings, group)

    def deleting_producer(self, settings: Mapping[str, Any], completed: Completed) -> PulsarProducer:
        return self.producer(settings, completed)

    def seeking_consumer(self, settings: Mapping[str, Any], group: int = 0) -> PulsarConsumer:
        return self.consumer(settings, group)

    def subscriber(self, settings: Mapping[str, Any], kind: str) -> PulsarSubscriber:
        return PulsarSubscriber(self._connection, settings, kind)

    def auditor(self, settings: Mapping[str, Any]) -> PulsarAuditor:
        return PulsarAuditor(self._connection)

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> PulsarPublisher:
        return PulsarPublisher(self._connection, settings, completed)

    def records(self, places: Sequence[Place]) -> PulsarRecordReader:
        return PulsarRecordReader(self._connection, places)

    def group_observer(self, topics: Sequence[str]) -> PulsarSubscriptionObserver:
        return PulsarSubscriptionObserver(self._connection, topics)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> PulsarQueueConsumer:
        return PulsarQueueConsumer(self._connection, settings, prefetch)
