"""A consumer that pops messages of queues, by RocketMQ's gRPC client in a JVM of its own."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from chaoskit.contract.client import Settlement, Unreachable
from chaoskit.contract.queue import Arrival, Change, Death
from chaoskit.contract.recording import NO_POSITION
from chaoskit.contract.service import ServiceError
from chaoskit.contract.topic import DEAD
from chaoskit.contract.vocabulary import INFO, OK, Outcome
from clusters.common.relay import frames
from clusters.common.relay.dialogue import Dialogue
from clusters.common.relay.frames import Answer
from clusters.common.relay.process import Jvm
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


class RocketQueueConsumer:
    """See `chaoskit.contract.queue.QueueConsumer`.

    Args:
        jvm: the JVM of its client.
        brokers: addresses of the brokers that have the queues.
        invisible: what consumers before this one left; it adds what it leaves itself.
    """

    def __init__(self, jvm: Jvm, brokers: Sequence[str], invisible: Invisible) -> None:
        self._dialogue = Dialogue(jvm)
        self._brokers = brokers
        self._invisible = invisible
        self._unsettled: set[int] = set()
        self._consumes = False

    def consume(self, queues_: Sequence[str]) -> None:
        self._consumes = bool(queues_)
        for queue in queues_:
            self._ask(b"q" + frames.text(queues.real_topic(queue)) + frames.text(queues.group_of(queue)))

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        answer = self._ask(b"p" + struct.pack(">ii", round(timeout_s * 1000), messages_max))
        error, arrivals = answer.text(), []
        for _ in range(answer.number()):
            queue = queues.queue_of(answer.text())
            (told,) = answer.records(queue, 0)
            death = Death(DELIVERY_LIMIT, queue.removesuffix(DEAD), 1) if queue.endswith(DEAD) else None
            arrivals.append(Arrival(told._replace(position=NO_POSITION), told.position, death))
            self._unsettled.add(told.position)
        if error:
            self._invisible.begin()
        return arrivals, error or None

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        kind = b"n" if how == "nack" else b"a"
        error = self._ask(kind + struct.pack(f">i{len(tags)}q", len(tags), *tags)).text()
        self._unsettled.difference_update(() if error else tags)
        return (INFO, error) if error else (OK, None)

    def changes(self) -> list[Change]:
        """Return none: a broker never ends a consumer."""
        return []

    def left(self, queue: str) -> tuple[int, int]:
        brokers = [(address, BROKER_PORT) for address in self._brokers]
        try:
            left = admin.ask_master(brokers, lambda master: queues.left(master, queue, CLUSTER_NAME, _ASK_S), _ASK_S)
        except ServiceError as error:
            raise Unreachable(f"queue {queue}: {error}") from error
        return left, self._consumes + self._invisible.there()

    def close(self, *, abruptly: bool = False) -> None:
        if self._consumes and (abruptly or self._unsettled or not self._ended()):
            self._invisible.begin()
        self._dialogue.close()

    def _ended(self) -> bool:
        """Receive no more; return whether it has nothing that it popped, and no request of its own waits to pop."""
        try:
            return bool(self._ask(b"e").number())
        except (OSError, ServiceError):
            return False

    def _ask(self, request: bytes) -> Answer:
        self._dialogue.say(request)
        return self._dialogue.hear()[1]
