"""The gallery's histories of queues: the same anomalies as in logs, where there are no positions."""

from __future__ import annotations

from collections.abc import Callable

from gallery_log import MS, OTHER
from story import Row, Story, received, sent

from chaoskit.history.audits import Drained
from chaoskit.history.models import DataModel

Q, R = "queue/0", "other/0"

QUEUES: dict[str, Callable[[bool], Story]] = {}
"""By anomaly: makes its history; told False, the one beside it."""


def shows(name: str) -> Callable[[Callable[[bool], Story]], Callable[[bool], Story]]:
    """Hang a history in the gallery."""

    def hang(make: Callable[[bool], Story]) -> Callable[[bool], Story]:
        QUEUES[name] = make
        return make

    return hang


def acked(value: int) -> Row:
    """A message that a consumer acknowledged."""
    return {"kind": "acked", "topic": "queue", "partition": 0, "name": None, "value": value, "position": None}


class Queue(Story):
    """Messages 0 to count - 1 of one producer in a queue, and what consumers do with them."""

    @classmethod
    def of(cls, count: int, *, complete: bool = True) -> Queue:
        story = cls(unit_ns=MS, model=DataModel.QUEUE, audits={Q: Drained(complete=complete)})
        for value in range(count):
            story.op("p", "send", sent(Q, value))
        return story

    def take(self, client: str, *values: int, start: int, delivery: int = 0, **more: object) -> int:
        """A consumer is given messages."""
        rows = [received(Q, value, None, delivery=delivery, **more) for value in values]
        return self.op(client, "receive", *rows, start=start)

    def settle(self, client: str, *values: int, start: int) -> int:
        """A consumer acknowledges messages."""
        return self.op(client, "ack", *map(acked, values), start=start)

    def end(self, *values: int, delivery: int = 0) -> Queue:
        """All is over at 5000 ms: the final read takes what is left."""
        self.op("c", "close", start=4900)
        self.take("auditor", *values, start=5000, delivery=delivery)
        self.settle("auditor", *values, start=5100)
        return self


@shows("lost")
def lost(broken: bool) -> Story:
    return Queue.of(2).end(*((0,) if broken else (0, 1)))


@shows("unseen")
def unseen(broken: bool) -> Story:
    return Queue.of(2, complete=False).end(*((0,) if broken else (0, 1)))


@shows("unacked-vanished")
def unacked_vanished(broken: bool) -> Story:
    story = Queue.of(2)
    story.take("c", 0, 1, start=100)
    story.settle("c", 1, start=110)
    return story.end(*(() if broken else (0,)), delivery=1)


@shows("duplicate")
def duplicate(broken: bool) -> Story:
    story = Queue.of(1)
    story.take("c", 0, start=100)
    if broken:
        story.settle("c", 0, start=110)
    return story.end(0, delivery=1)


@shows("redelivery-flag-missing")
def redelivery_flag_missing(broken: bool) -> Story:
    story = Queue.of(1)
    story.take("c", 0, start=100)
    return story.end(0, delivery=0 if broken else 1)


@shows("fifo-violation")
def fifo_violation(broken: bool) -> Story:
    story = Queue.of(2)
    story.take("c", *((1, 0) if broken else (0, 1)), start=100)
    story.settle("c", 0, 1, start=110)
    return story.end()


@shows("failed-visible")
def failed_visible(broken: bool) -> Story:
    story = Queue.of(0)
    story.op("p", "send", sent(Q, 0), outcome="fail" if broken else "info")
    return story.end(0)


@shows("phantom")
def phantom(broken: bool) -> Story:
    return Queue.of(1).end(0, *((OTHER,) if broken else ()))


@shows("corrupt")
def corrupt(broken: bool) -> Story:
    story = Queue.of(1)
    story.take("c", 0, start=100, payload="corrupt" if broken else "ok")
    story.settle("c", 0, start=110)
    return story.end(*((0,) if broken else ()), delivery=1)


@shows("misrouted")
def misrouted(broken: bool) -> Story:
    story = Queue.of(1)
    story.audits[R] = Drained(complete=True)
    story.op("o", "send", sent(R, OTHER))
    place = Q if broken else R
    story.op("auditor", "receive", received(place, OTHER, None, delivery=0), start=4000)
    story.op("auditor", "ack", {**acked(OTHER), "topic": place.partition("/")[0]}, start=4100)
    return story.end(0)
