"""A consumer that pops messages of queues, by RocketMQ's gRPC client in a JVM of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.contract.client import Unreachable
from chaoskit.contract.queue import Arrival, Death
from chaoskit.contract.service import ServiceError
from chaoskit.contract.topic import DEAD
from clusters.common.relay.process import Jvm
from clusters.common.relay.queue_consumer import JavaQueueConsumer
from clusters.rocketmq import admin, queues
from clusters.rocketmq.settings import BROKER_PORT, CLUSTER_NAME

DELIVERY_LIMIT = "delivery_limit"
"""The only reason for which RocketMQ moves a message to the dead letters."""

_ASK_S = 2.0

_COMES_AGAIN_S = 8.0
"""How long after its time an invisible message may need to be counted as waiting again: it may have been popped as late
as 3 s after the consumer left, by a request that waited at the broker, and comes again by `PopReviveService`."""


class Invisible:
    """Messages that consumers popped and left: they are invisible for a while.

    Args:
        duration_s: how long.
    """

    def __init__(self, duration_s: float) -> None:
        self._lasts_s = duration_s + _COMES_AGAIN_S
        self._until = 0.0
        self.begin()

    def begin(self) -> None:
        """A consumer may have left some now."""
        self._until = time.monotonic() + self._lasts_s

    def there(self) -> bool:
        """Return whether some may still be invisible."""
        return time.monotonic() < self._until


class RocketQueueConsumer(JavaQueueConsumer):
    """See `chaoskit.contract.queue.QueueConsumer`.

    Args:
        jvm: the JVM of its client.
        brokers: addresses of the brokers that have the queues.
        invisible: what consumers before this one left; it adds what it leaves itself.
    """

    def __init__(self, jvm: Jvm, brokers: Sequence[str], invisible: Invisible) -> None:
        super().__init__(jvm)
        self._brokers = brokers
        self._invisible = invisible

    def described(self, queue: str) -> Sequence[str]:
        return queues.real_topic(queue), queues.group_of(queue)

    def queue_of(self, name: str) -> str:
        return queues.queue_of(name)

    def death(self, queue: str, origin: str) -> Death | None:
        return Death(DELIVERY_LIMIT, queue.removesuffix(DEAD), 1) if queue.endswith(DEAD) else None

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        arrivals, error = super().poll(timeout_s, messages_max)
        if error:
            self._invisible.begin()
        return arrivals, error

    def left(self, queue: str) -> tuple[int, int]:
        brokers = [(address, BROKER_PORT) for address in self._brokers]
        try:
            left = admin.ask_master(brokers, lambda master: queues.left(master, queue, CLUSTER_NAME, _ASK_S), _ASK_S)
        except ServiceError as error:
            raise Unreachable(f"queue {queue}: {error}") from error
        return left, self._consumes + self._invisible.there()

    def close(self, *, abruptly: bool = False) -> None:
        if self._consumes and (abruptly or self._unsettled or not self.ended()):
            self._invisible.begin()
        self._dialogue.close()
