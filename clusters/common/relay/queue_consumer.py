"""A consumer of queues of a system's own (Java) client, in a JVM of its own; `Queues.java` is its other end."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence

from chaoskit.contract.clients.client import Settlement
from chaoskit.contract.clients.queue import Arrival, ConsumerChange, Death
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.message import NO_POSITION
from chaoskit.model.outcome import INFO, OK, Outcome
from clusters.common.relay import frames
from clusters.common.relay.dialogue import Dialogue
from clusters.common.relay.frames import RelayAnswer
from clusters.common.relay.process import Jvm

_KINDS = {"ack": b"a", "nack": b"n", "reject": b"r"}


class JavaQueueConsumer(ABC):
    """What consumers of all systems share of `chaoskit.contract.clients.queue.QueueConsumer`; a system's own says how
    its queues are described and named, how many messages are left, and how it is closed.

    Args:
        jvm: the JVM of its client.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._dialogue = Dialogue(jvm)
        self._unsettled: set[int] = set()
        self._consumes = False

    @abstractmethod
    def sources(self, queues: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return what the JVM must know of each of the sources that give the messages of some queues: one for each
        queue, or one for all; first the name of a queue in the system."""
        ...

    @abstractmethod
    def queue_of(self, name: str) -> str:
        """Return the queue with such a name in the system."""
        ...

    @abstractmethod
    def death(self, queue: str, origin: str) -> Death | None:
        """Return why a message is in a queue, if it was dead-lettered.

        Args:
            queue: the queue.
            origin: the queue that it was in before, as the system names it; empty if it does not tell.
        """
        ...

    def consume(self, queues: Sequence[str]) -> None:
        self._consumes = bool(queues)
        for description in self.sources(queues) if queues else ():
            self._ask(b"q" + struct.pack(">i", len(description)) + b"".join(map(frames.text, description)))

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        answer = self._ask(b"p" + struct.pack(">ii", round(timeout_s * 1000), messages_max))
        error, arrivals = answer.text(), []
        for _ in range(answer.number()):
            queue, origin = self.queue_of(answer.text()), answer.text()
            (delivery,) = answer.records(queue, 0)
            arrivals.append(
                Arrival(delivery._replace(position=NO_POSITION), delivery.position, self.death(queue, origin))
            )
            self._unsettled.add(delivery.position)
        return arrivals, error or None

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        error = self._ask(_KINDS[how] + struct.pack(f">i{len(tags)}q", len(tags), *tags)).text()
        self._unsettled.difference_update(() if error else tags)
        return (INFO, error) if error else (OK, None)

    def changes(self) -> list[ConsumerChange]:
        """Return none: a broker never ends a consumer and leaves its connection."""
        return []

    def ended(self) -> bool:
        """Receive no more; return whether it has nothing that it received, and no request of its own waits."""
        try:
            return bool(self._ask(b"e").number())
        except (OSError, ServiceError):
            return False

    def _ask(self, request: bytes) -> RelayAnswer:
        self._dialogue.say(request)
        return self._dialogue.hear()[1]
