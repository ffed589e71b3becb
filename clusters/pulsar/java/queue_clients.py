"""Publishers to queues, and consumers of them, by Pulsar's own client in a JVM for each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Settlement, Unreachable
from chaoskit.contract.clients.queue import Death
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import DEAD
from chaoskit.model.outcome import Outcome
from clusters.common.relay.process import Jvm
from clusters.common.relay.queue_consumer import JavaQueueConsumer
from clusters.pulsar.clients.queue_consumer import ASK_TIMEOUT_S, death_from, queue_named, refusal_s
from clusters.pulsar.clients.queues import LIMIT, QUEUES, retries, retry_topic
from clusters.pulsar.connection import full_name, subscription
from clusters.pulsar.deploy.admin import Admin
from clusters.pulsar.java import queues


class PulsarJavaQueueConsumer(JavaQueueConsumer):
    """See `chaoskit.contract.clients.queue.QueueConsumer`.

    Args:
        jvm: the JVM of its client.
        connection: see `PulsarCluster.client_settings`.
        settings: all of the client's settings, and those of the relay.
    """

    def __init__(self, jvm: Jvm, connection: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        super().__init__(jvm)
        self._admin = Admin(connection["brokers"])
        self._subscription = subscription(connection)
        self._declared: Mapping[str, Mapping[str, int]] = connection[QUEUES]
        self._retries = retries(settings)
        self._refusal_s = 0.0 if self._retries else refusal_s(queues.refusal_ms(settings))
        self._refused_until = 0.0

    def sources(self, queues: Sequence[str]) -> Sequence[Sequence[str]]:
        return [self._source(queue) for queue in queues]

    def _source(self, queue: str) -> Sequence[str]:
        limit = self._declared.get(queue, {}).get(LIMIT, 0)
        retry = full_name(retry_topic(queue), 0) if limit and self._retries else ""
        return full_name(queue, 0), self._subscription, str(limit), full_name(queue + DEAD, 0), retry

    def queue_of(self, name: str) -> str:
        return queue_named(name)

    def death(self, queue: str, origin: str) -> Death | None:
        return death_from(origin) if queue.endswith(DEAD) and origin else None

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        if how == "nack":
            self._refused_until = time.monotonic() + self._refusal_s
        return super().settle(tags, how)

    def left(self, queue: str) -> tuple[int, int]:
        """Return how many messages nobody has acknowledged, and the number of consumers.

        Among them are those that wait for their time, also in a retry topic, and those that a consumer has.
        """
        limited = bool(self._declared.get(queue, {}).get(LIMIT))
        topics = [queue, retry_topic(queue)] if limited and self._retries else [queue]
        try:
            backlogs = [self._admin.backlog(topic, 0, self._subscription, ASK_TIMEOUT_S) for topic in topics]
        except ServiceError as error:
            raise Unreachable(f"queue {queue}: {error}") from error
        return sum(messages for messages, _ in backlogs), backlogs[0][1]

    def close(self, *, abruptly: bool = False) -> None:
        if self._consumes and not abruptly:
            time.sleep(max(self._refused_until - time.monotonic(), 0))
            self.ended()
        self._dialogue.close()
