"""A consumer that pops messages of queues, by RocketMQ's gRPC client in a JVM of its own."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.clients.queue import Arrival, Death
from clusters.common.relay.process import Jvm
from clusters.common.relay.queue_consumer import JavaQueueConsumer
from clusters.rocketmq.clients import queues as names
from clusters.rocketmq.clients.popped import Invisible, death_in, left_in


class RocketQueueConsumer(JavaQueueConsumer):
    """See `chaoskit.contract.clients.queue.QueueConsumer`.

    Args:
        jvm: the JVM of its client.
        brokers: addresses of the brokers that have the queues.
        invisible: what consumers before this one left; it adds what it leaves itself.
    """

    def __init__(self, jvm: Jvm, brokers: Sequence[str], invisible: Invisible) -> None:
        super().__init__(jvm)
        self._brokers = brokers
        self._invisible = invisible

    def sources(self, queues: Sequence[str]) -> Sequence[Sequence[str]]:
        return [(names.real_topic(queue), names.group_of(queue)) for queue in queues]

    def queue_of(self, name: str) -> str:
        return names.queue_of(name)

    def death(self, queue: str, origin: str) -> Death | None:
        return death_in(queue)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        arrivals, error = super().poll(timeout_s, messages_max)
        if error:
            self._invisible.begin()
        return arrivals, error

    def left(self, queue: str) -> tuple[int, int]:
        return left_in(self._brokers, queue), self._consumes + self._invisible.there()

    def close(self, *, abruptly: bool = False) -> None:
        if self._consumes and (abruptly or self._unsettled or not self.ended()):
            self._invisible.begin()
        self._dialogue.close()
