"""RocketMQ's producers and consumers, for worker processes: its own (Java) client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.guarantees.setting import is_true
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.service import ServiceError
from clusters.common.relay.consumer import JavaConsumer
from clusters.common.relay.process import QUEUES, Jvm
from clusters.common.relay.producer import JavaProducer
from clusters.rocketmq.clients import settings as client_settings
from clusters.rocketmq.clients.popped import Invisible
from clusters.rocketmq.clients.settings import consumer_settings, producer_settings, transactional_settings
from clusters.rocketmq.clients.transactions import RocketTransactionalProducer
from clusters.rocketmq.connection import (
    ASKED_MS,
    BROKERS,
    CLASSPATH,
    DELAYS,
    NAME_SERVERS,
    NAMESPACE,
    ORDERED,
    POP_CLASSPATH,
    PROXIES,
    group_name,
)
from clusters.rocketmq.deploy import admin, progress
from clusters.rocketmq.java.relay import RELAY
from clusters.rocketmq.pop import relay as pop
from clusters.rocketmq.pop.consumer import RocketQueueConsumer
from clusters.rocketmq.settings import BROKER_PORT

_INSISTS = "insists"
"""Setting of the relay: what was surely not sent is sent again."""

_HALVES, _ENDED = "RMQ_SYS_TRANS_HALF_TOPIC", "CID_RMQ_SYS_TRANS"
"""Where half messages are, and the group that is past those that have ended."""

_ANY = -1
"""The client chooses one of a topic's queues."""

_ASK_S = 2.0


class RocketClients:
    """The powers `LogClients`, `TransactionalClients` of `chaoskit.contract.clients.client`, and `QueueClients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection
        self._producers = f"{connection[NAMESPACE]}producers"
        self._invisible: Invisible | None = None

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "RocketMQ's client")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> JavaProducer:
        resolved = producer_settings(settings)
        answered = client_settings.way_of(settings) != client_settings.ONEWAY
        return JavaProducer(self._start("producer", resolved, self._producers), (), completed, tells_positions=answered)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> JavaProducer:
        process = self._start("producer", {**producer_settings({}), _INSISTS: True}, self._producers)
        return JavaProducer(process, (), completed)

    def transactional_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> RocketTransactionalProducer:
        options = {**transactional_settings(settings), ASKED_MS: self._connection[ASKED_MS]}
        process = self._start("transactional", options, name)
        return RocketTransactionalProducer(process, completed)

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> JavaConsumer:
        resolved, name = consumer_settings(settings), group_name(self._connection, group)
        commits_itself = is_true(resolved.get("autoCommit", True))
        return JavaConsumer(self._start("consumer", resolved, name), name, commits_itself=commits_itself)

    def auditor(self, settings: Mapping[str, Any]) -> RocketAuditor:
        name = group_name(self._connection, 0)
        process = self._start("consumer", consumer_settings({}), name)
        return RocketAuditor(process, name, self._connection[BROKERS])

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> RocketPublisher:
        ordered = self._connection[ORDERED]
        way = client_settings.way_to_queues(settings, ordered=bool(ordered), confirms=publishing.confirms)
        delays = ";".join(f"{topic}={delay_ms}" for topic, delay_ms in self._connection[DELAYS].items())
        resolved = producer_settings({**settings, client_settings.SEND: way})
        process = self._start("producer", {**resolved, DELAYS: delays}, self._producers)
        return RocketPublisher(process, completed, f"producer-{index}", ordered)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> RocketQueueConsumer:
        invisible_s = client_settings.pop_settings(settings).invisible_duration / SECOND
        if self._invisible is None:
            self._invisible = Invisible(invisible_s)
        options = {
            "endpoints": self._connection[PROXIES],
            "invisible_ms": round(invisible_s * 1000),
            "prefetch": prefetch,
        }
        process = pop.RELAY.start(str(self._connection[POP_CLASSPATH]), QUEUES, options)
        return RocketQueueConsumer(process, self._connection[BROKERS][0], self._invisible)

    def _start(self, role: str, settings: Mapping[str, Any], group: str) -> Jvm:
        own = {
            client_settings.NAME_SERVERS: self._connection[NAME_SERVERS],
            client_settings.GROUP: group,
            client_settings.BROKERS: len(self._connection[BROKERS]),
        }
        return RELAY.start(str(self._connection[CLASSPATH]), role, {**settings, **own})


class RocketPublisher(JavaProducer):
    """See `chaoskit.contract.clients.queue.Publisher`. In a queue that keeps order, its messages are one message group.

    Args:
        jvm: the JVM of its client.
        completed: is told each completion.
        group: the message group.
        ordered: the queues that keep order.
    """

    def __init__(self, jvm: Jvm, completed: Completed, group: str, ordered: Sequence[str]) -> None:
        super().__init__(jvm, (), completed, tells_positions=False)
        self._group = group.encode()
        self._ordered = frozenset(ordered)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return super().send(topic, _ANY, self._group if topic in self._ordered else None, payload, token)

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        """See `chaoskit.contract.clients.queue.Publisher`; there are no priorities."""
        return self.send(topic, _ANY, None, payload, token)


class RocketAuditor(JavaConsumer):
    """See `chaoskit.contract.clients.client.Auditor`.

    Args:
        jvm: the JVM of its consumer.
        group: see `JavaConsumer`.
        brokers: by group of brokers, their addresses.
    """

    def __init__(self, jvm: Jvm, group: str, brokers: Sequence[Sequence[str]]) -> None:
        super().__init__(jvm, group)
        self._brokers = brokers

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        queue, number = divmod(partition, len(self._brokers))

        def ends(master: admin.Server) -> tuple[int, int]:
            admin.check_dispatched(master, _ASK_S)
            _none_open(master)
            return progress.bounds(master, (topic, queue), timeout_s)

        try:
            return admin.ask_master([(address, BROKER_PORT) for address in self._brokers[number]], ends, _ASK_S)
        except ServiceError as error:
            raise ServiceError(f"no end position of {topic}/{partition}: {error}") from error

    def position(self, topic: str, partition: int) -> int:
        return self._reached.get((topic, partition), 0)


def _none_open(broker: admin.Server) -> None:
    """Check that all transactions on a broker have ended, so that no more of them comes to light.

    Raises:
        ServiceError: some have not.
        OSError: it does not answer.
    """
    if count := progress.lag(broker, (_HALVES, 0), _ENDED, _ASK_S):
        raise ServiceError(f"{count} transactions are still open")
