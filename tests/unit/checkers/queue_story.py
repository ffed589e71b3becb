"""Histories of one queue, and the gallery that they hang in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gallery_log import MS
from story import Row, Story, received, sent

from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.model.audit import Drained

Q, D = "queue/0", "queue.dead/0"

QUEUES: dict[str, Callable[[bool], Story]] = {}
"""By anomaly: makes its history; told False, the one beside it."""


def shows(name: str) -> Callable[[Callable[[bool], Story]], Callable[[bool], Story]]:
    """Hang a history in the gallery."""

    def hang(make: Callable[[bool], Story]) -> Callable[[bool], Story]:
        QUEUES[name] = make
        return make

    return hang


def seen(kind: str, place: str = Q, **more: object) -> Row:
    """An observation about a queue."""
    topic, _, partition = place.partition("/")
    row = {"kind": kind, "topic": topic, "partition": int(partition), "name": None, "value": None, "position": None}
    return row | more


class Queue(Story):
    """Messages of one producer in a queue, and what consumers do with them; times are in ms."""

    @classmethod
    def of(cls, count: int, *, complete: bool = True, **settings: int) -> Queue:
        """Messages 0 to count - 1 were sent to a queue that was declared with these settings."""
        story = cls(unit_ns=MS, model=QUEUE, audits={Q: Drained(complete=complete)}, bound_ns=60_000 * MS)
        named = {name.replace("_", "-"): number for name, number in settings.items()}
        if named:
            story.declare(Q, named)
        if "dead-letters" in named:
            story.audits[D] = Drained(complete=complete)
            story.declare(D, {"dead-letters-of": 1})
        for value in range(count):
            story.op("p", "send", sent(Q, value))
        return story

    def declare(self, place: str, settings: Mapping[str, int]) -> None:
        """A queue is declared."""
        rows = [seen("declared", place, name=name, position=number) for name, number in settings.items()]
        self.op("p", "declare", *rows)

    def take(self, client: str, *values: int, start: int, delivery: int = 0, **more: object) -> int:
        """A consumer is given messages."""
        rows = [received(Q, value, None, delivery=delivery, **more) for value in values]
        return self.op(client, "receive", *rows, start=start)

    def settle(self, client: str, *values: int, start: int, how: str = "ack", place: str = Q) -> int:
        """A consumer acknowledges messages, or refuses them."""
        kind = {"ack": "acked", "nack": "nacked", "reject": "rejected"}[how]
        return self.op(client, how, *(seen(kind, place, value=value) for value in values), start=start)

    def dead(self, value: int, reason: str, *, start: int, delivery: int = 0, count: int = 1, ack: bool = True) -> None:
        """A consumer of the dead letters is given a message, and acknowledges it."""
        death = seen("dead-lettered", name=reason, value=value, position=count)
        self.op("d", "receive", received(D, value, None, delivery=delivery), death, start=start)
        if ack:
            self.settle("d", value, start=start + 10, place=D)

    def end(self, *values: int, delivery: int = 0, depth: int | None = None, after: int = 0) -> Queue:
        """All is over at 5000 ms, or so much later: the final read takes what is left."""
        for client in dict.fromkeys(row["client"] for row in self.operations if row["f"] in {"receive", "subscribe"}):
            self.op(client, "close", start=after + 4900)
        depths = () if depth is None else (seen("depth", position=depth),)
        self.op("auditor", "audit", *depths, start=after + 4950, lasts=500)
        self.take("auditor", *values, start=after + 5000, delivery=delivery)
        self.settle("auditor", *values, start=after + 5100)
        return self
