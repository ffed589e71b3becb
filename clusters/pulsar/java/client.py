"""Pulsar's own producers and consumers, for worker processes. The final read and its probes stay pulsar-client's.

As with pulsar-client, only errors after which the message cannot have been enqueued are `fail`; see
`clusters.pulsar.clients.producer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.clients.client import Completed, Reached
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.power import P, held
from chaoskit.model.outcome import Outcome
from clusters.common.relay.consumer import JavaConsumer
from clusters.common.relay.process import QUEUES
from clusters.common.relay.producer import JavaProducer, JavaPublisher
from clusters.common.relay.transactional import JavaTransactionalProducer
from clusters.pulsar.clients.clients import PulsarClients
from clusters.pulsar.clients.consumer import PulsarAuditor
from clusters.pulsar.clients.producer import PulsarProducer
from clusters.pulsar.clients.queue_publisher import delays_ms, without_position
from clusters.pulsar.clients.settings import CLASSPATH
from clusters.pulsar.clients.transactions import TransactionalAuditor
from clusters.pulsar.connection import subscription
from clusters.pulsar.java.queue_clients import PulsarJavaQueueConsumer
from clusters.pulsar.java.queues import DELAYS, for_relay
from clusters.pulsar.java.relay import RELAY
from clusters.pulsar.java.settings import (
    SUBSCRIPTION,
    connected,
    consumer_settings,
    producer_settings,
    publisher_settings,
    queue_consumer_settings,
    transactional_settings,
)

NEVER_SENT = {"MemoryBufferIsFullError", "ProducerQueueIsFullError"}
"""Errors that prove that a message was not written: raised before it is pending (`ProducerImpl.canEnqueueRequest`,
Pulsar 4.0.7). Not `InvalidMessageException`: a message that is sent again to a broker with a lower limit has it too."""


class PulsarJavaClients:
    """The powers `LogClients` of `chaoskit.contract.clients.client`, and
    `chaoskit.contract.clients.queue.QueueClients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._ours = PulsarClients(connection)
        self._connection = connection
        self._classpath = str(connection[CLASSPATH])

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Pulsar's Java client")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> JavaProducer:
        resolved = connected(self._connection, producer_settings(settings))
        return JavaProducer(RELAY.start(self._classpath, "producer", resolved), NEVER_SENT, completed)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> PulsarProducer:
        return self._ours.prober({}, completed)

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> JavaConsumer:
        name = subscription(self._connection, group)
        # Readers take no notice of what only members of a group have.
        resolved = connected(self._connection, consumer_settings(settings, grouped=True))
        return PulsarJavaConsumer(RELAY.start(self._classpath, "consumer", {**resolved, SUBSCRIPTION: name}), name)

    def auditor(self, settings: Mapping[str, Any]) -> PulsarAuditor:
        return self._ours.auditor({})

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> JavaPublisher:
        delays = {f"{DELAYS}{queue}": delay_ms for queue, delay_ms in delays_ms(self._connection).items()}
        resolved = {**connected(self._connection, publisher_settings(settings)), **delays}
        jvm = RELAY.start(self._classpath, "producer", resolved)
        return JavaPublisher(jvm, NEVER_SENT, without_position(completed))

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> PulsarJavaQueueConsumer:
        resolved = queue_consumer_settings(settings)
        jvm = RELAY.start(self._classpath, QUEUES, connected(self._connection, for_relay(resolved, prefetch)))
        return PulsarJavaQueueConsumer(jvm, self._connection, resolved)


class TransactionalJavaClients(PulsarJavaClients):
    """The power `TransactionalClients`, too: of a cluster with transaction coordinators."""

    def transactional_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> JavaTransactionalProducer:
        resolved = connected(self._connection, transactional_settings(settings))
        process = RELAY.start(self._classpath, "transactional", resolved)
        return JavaTransactionalProducer(process, NEVER_SENT, completed)

    def auditor(self, settings: Mapping[str, Any]) -> PulsarAuditor:
        return TransactionalAuditor(self._connection)


class PulsarJavaConsumer(JavaConsumer):
    """A consumer that acknowledges what it was given once: another member may own the partition later."""

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        outcome = super().commit(reached)
        for topic, partition, _ in reached:
            self._reached.pop((topic, partition))
        return outcome
