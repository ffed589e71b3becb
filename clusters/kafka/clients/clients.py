"""Kafka's clients, for worker processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.secrets import resolved
from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.power import P, held
from chaoskit.model.observations.feed import Promise
from chaoskit.model.place import Place
from clusters.kafka.clients.application import KafkaGroupObserver, KafkaRecordReader
from clusters.kafka.clients.consumer import KafkaAuditor, KafkaConsumer
from clusters.kafka.clients.feed import KafkaFeedSubscriber, promise
from clusters.kafka.clients.producer import KafkaProducer
from clusters.kafka.clients.settings import (
    ISOLATION,
    READ_COMMITTED,
    TRANSACTIONAL_ID,
    resolve_producer,
    transactional_settings,
)
from clusters.kafka.clients.transactions import KafkaTransactionalProducer
from clusters.kafka.connection import BROKERS, NAMESPACE, STORE, group, librdkafka
from clusters.kafka.shares.consumer import KafkaShareConsumer
from clusters.kafka.shares.publisher import KafkaPublisher
from clusters.kafka.tiered.auditor import TieredAuditor
from clusters.kafka.tiered.local import LeaderReads


class KafkaClients:
    """The powers `LogClients`, `SeekingClients`, `DeletingClients` and `TransactionalClients` of
    `chaoskit.contract.clients.client`, `FeedClients`, and `QueueClients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = resolved(librdkafka(connection), "cluster.attach")
        self._group = group(connection[NAMESPACE])
        tiered = BROKERS in connection
        self._leaders = LeaderReads(connection[BROKERS].split(","), connection[STORE]) if tiered else None

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Kafka's client")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> KafkaProducer:
        plain = {key: value for key, value in resolve_producer(settings).items() if key != TRANSACTIONAL_ID}
        return KafkaProducer({**self._connection, **plain}, completed)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> KafkaProducer:
        return self.producer({**resolve_producer(settings), "acks": "all"}, completed)

    def transactional_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> KafkaTransactionalProducer:
        return KafkaTransactionalProducer({**self._connection, **transactional_settings(settings, name)}, completed)

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> KafkaConsumer:
        return KafkaConsumer({**self._connection, **settings, "group.id": self.group(settings, group)})

    def seeking_consumer(self, settings: Mapping[str, Any], group: int = 0) -> KafkaConsumer:
        return self.consumer(settings, group)

    def deleting_producer(self, settings: Mapping[str, Any], completed: Completed) -> KafkaProducer:
        return self.producer(settings, completed)

    def group(self, settings: Mapping[str, Any], number: int) -> str:
        """Return the name of the group with a number, given the settings of its consumers."""
        name = str(settings.get("group.id", self._group))
        return f"{name}-{number}" if number else name

    def auditor(self, settings: Mapping[str, Any]) -> KafkaAuditor:
        mine = {**self._connection, "group.id": f"{self._group}-auditor"}
        isolation = settings.get(ISOLATION) or READ_COMMITTED
        return TieredAuditor(mine, isolation, self._leaders) if self._leaders else KafkaAuditor(mine, isolation)

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> KafkaPublisher:
        """See `chaoskit.contract.clients.queue.QueueClients`."""
        return KafkaPublisher({**self._connection, **resolve_producer(settings)}, completed)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> KafkaShareConsumer:
        """See `chaoskit.contract.clients.queue.QueueClients`."""
        return KafkaShareConsumer({**self._connection, **settings, "group.id": self._group}, prefetch)

    def records(self, places: Sequence[Place]) -> KafkaRecordReader:
        """See `chaoskit.contract.clients.application.ApplicationClients`."""
        return KafkaRecordReader(self._connection, places, f"{self._group}-records")

    def group_observer(self, topics: Sequence[str]) -> KafkaGroupObserver:
        """See `chaoskit.contract.clients.application.ApplicationClients`."""
        return KafkaGroupObserver(self._connection, topics, self._group)

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        return promise(publishing)

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> KafkaProducer:
        return self.producer(settings, completed)

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> KafkaFeedSubscriber:
        return KafkaFeedSubscriber({**self._connection, **settings, "group.id": self._group}, topics)
