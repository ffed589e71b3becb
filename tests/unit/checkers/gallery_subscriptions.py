"""The gallery's histories of subscriptions."""

from __future__ import annotations

from gallery_log import MS, P, shows
from story import Row, Story, received, sent, settled, subscribed

from chaoskit.model.audit import Bounds


class Shared(Story):
    """Messages that were sent, in ms, and two consumers of one subscription."""

    @classmethod
    def of(cls, kind: str, count: int, key: str | None = None) -> Shared:
        story = cls(unit_ns=MS, audits={P: Bounds(0, count, complete=True)})
        for index in range(count):
            story.op("p", "send", sent(P, index, index, key=key))
        for client in "ab":
            story.op(client, "subscribe", subscribed(P, kind))
        return story

    def take(self, client: str, *positions: int, start: int, count: int = 0, key: str | None = None) -> int:
        """A consumer is given messages."""
        rows: list[Row] = [received(P, index, index, delivery=count, key=key) for index in positions]
        return self.op(client, "receive", *rows, start=start)

    def settle(self, client: str, how: str, *positions: int, start: int) -> int:
        """A consumer acknowledges, or refuses, messages."""
        return self.op(
            client, how, *(settled(f"{how}ed", P, index) for index in positions), start=start, outcome="info"
        )

    def end(self, count: int) -> Shared:
        """All is over at 5000 ms: the consumers drain, and everything is read."""
        for client in "ab":
            self.op(client, "drain", start=5000, lasts=3000)
        self.op("auditor", "poll", *(received(P, index, index) for index in range(count)), start=9000)
        for client in "ab":
            self.op(client, "close", start=9100)
        return self


@shows("unacked-vanished")
def unacked_vanished(broken: bool) -> Story:
    story = Shared.of("shared", 2)
    story.take("a", 0, 1, start=100)
    story.settle("a", "ack", 0, start=110)
    story.op("a", "crash", start=200)
    if not broken:
        story.take("b", 1, start=300, count=1)
        story.settle("b", "ack", 1, start=310)
    return story.end(2)


@shows("undrained")
def undrained(broken: bool) -> Story:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    story.settle("a", "ack", 0, start=110)
    story.end(1)
    if broken:
        next(row for row in story.operations if row["f"] == "drain")["outcome"] = "info"
    return story


@shows("double-delivery")
def double_delivery(broken: bool) -> Story:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    if not broken:
        story.settle("a", "nack", 0, start=150)
    story.take("b", 0, start=200, count=1)
    story.settle("b", "ack", 0, start=300)
    return story.end(1)


@shows("two-active")
def two_active(broken: bool) -> Story:
    story = Shared.of("key-shared", 2, key="k")
    story.take("a", 0, start=100, key="k")
    story.settle("a", "ack", 0, start=300 if broken else 150)
    story.take("b", 1, start=200, key="k")
    story.settle("b", "ack", 1, start=210)
    return story.end(2)


@shows("fifo-violation")
def fifo_violation(broken: bool) -> Story:
    story = Shared.of("failover", 2)
    for index, position in enumerate((1, 0) if broken else (0, 1)):
        story.take("a", position, start=100 + 10 * index)
    story.settle("a", "ack", 0, 1, start=200)
    return story.end(2)


@shows("redelivery-flag-missing")
def redelivery_flag_missing(broken: bool) -> Story:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    story.settle("a", "nack", 0, start=150)
    story.take("b", 0, start=300, count=0 if broken else 1)
    story.settle("b", "ack", 0, start=310)
    return story.end(1)
