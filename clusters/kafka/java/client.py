"""Kafka's own producers and consumers, for worker processes. The final read and its probes stay librdkafka's.

As with librdkafka, only errors after which the message cannot have been appended are `fail`; see
`clusters.kafka.clients.producer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.guarantees.setting import is_true
from chaoskit.contract.power import P, held
from clusters.common.relay.consumer import JavaConsumer
from clusters.common.relay.process import QUEUES
from clusters.common.relay.producer import JavaProducer, JavaPublisher
from clusters.kafka.clients.clients import KafkaClients
from clusters.kafka.clients.consumer import KafkaAuditor
from clusters.kafka.clients.producer import KafkaProducer
from clusters.kafka.connection import BOOTSTRAP, CLASSPATH, CLIENT_ID, SHARES_CLASSPATH
from clusters.kafka.java.relay import RELAY
from clusters.kafka.java.settings import (
    consumer_settings,
    member_settings,
    producer_settings,
    transactional_settings,
)
from clusters.kafka.java.transactions import KafkaTransactions
from clusters.kafka.shares.java.consumer import PREFETCH, KafkaJavaShareConsumer
from clusters.kafka.shares.java.relay import RELAY as SHARES

NEVER_SENT = {
    "BufferExhaustedException",
    "InvalidRequiredAcksException",
    "RecordBatchTooLargeException",
    "RecordTooLargeException",
    "TopicAuthorizationException",
}
"""Errors that prove that a message was not written: raised before it is appended, never retried. See
`clusters.kafka.clients.producer.NEVER_SENT`, and for the first one `KafkaProducer.doSend`."""


Sending = TypeVar("Sending", bound=JavaProducer)


class KafkaJavaClients:
    """The powers `LogClients` and `TransactionalClients` of `chaoskit.contract.clients.client`, and `QueueClients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._ours = KafkaClients(connection)
        self._classpath = str(connection[CLASSPATH])
        self._shares_classpath = str(connection.get(SHARES_CLASSPATH, ""))
        self._servers = {BOOTSTRAP: connection[BOOTSTRAP]}
        self._named = {key: connection[key] for key in (CLIENT_ID,) if key in connection}

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Kafka's Java client")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> JavaProducer:
        return self._sending(JavaProducer, settings, completed)

    def transactional_producer(self, settings: Mapping[str, Any], name: str, completed: Completed) -> KafkaTransactions:
        resolved = transactional_settings(settings, name)
        process = RELAY.start(self._classpath, "transactional", {**self._named, **resolved, **self._servers})
        return KafkaTransactions(process, NEVER_SENT, completed)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> KafkaProducer:
        return self._ours.prober({}, completed)

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> JavaConsumer:
        name = self._ours.group(settings, group)
        resolved = consumer_settings(settings)
        process = RELAY.start(
            self._classpath, "consumer", {**self._named, **resolved, **self._servers, "group.id": name}
        )
        return JavaConsumer(process, name, commits_itself=is_true(resolved.get("enable.auto.commit", True)))

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> JavaPublisher:
        """See `chaoskit.contract.clients.queue.QueueClients`."""
        return self._sending(JavaPublisher, settings, completed)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> KafkaJavaShareConsumer:
        """See `chaoskit.contract.clients.queue.QueueClients`."""
        name = self._ours.group({}, 0)
        resolved = {**member_settings(settings), **self._servers, "group.id": name, PREFETCH: prefetch}
        process = SHARES.start(self._shares_classpath, QUEUES, {**self._named, **resolved})
        return KafkaJavaShareConsumer(process, str(self._servers[BOOTSTRAP]).split(","), name)

    def auditor(self, settings: Mapping[str, Any]) -> KafkaAuditor:
        return self._ours.auditor(settings)

    def _sending(self, kind: type[Sending], settings: Mapping[str, Any], completed: Completed) -> Sending:
        resolved = producer_settings(settings)
        process = RELAY.start(self._classpath, "producer", {**self._named, **resolved, **self._servers})
        return kind(process, NEVER_SENT, completed, tells_positions=str(resolved.get("acks")) != "0")
