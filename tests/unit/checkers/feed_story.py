"""Histories of one topic that keeps nothing; times are in ms."""

from __future__ import annotations

from typing import Any

from gallery_log import MS
from story import Row, Story, received, sent

from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.model.audit import Drained
from chaoskit.model.observations.feed import (
    DEADLINE,
    DEADLINE_MISSED,
    EXCLUSIVE,
    LIVELINESS,
    NOT_ALIVE,
    PARTED,
    REPLAYED,
    RETAINED,
    SHARED,
    Promise,
)

F = "feed/0"


def _told(kind: str, promise: Promise, place: str) -> Row:
    topic, _, partition = place.partition("/")
    row = {"kind": kind, "topic": topic, "partition": int(partition), "position": promise.keeps}
    return row | {"name": promise.delivery, "value": int(promise.lasting)}


class Feed(Story):
    """Messages of publishers, and subscribers that come and go."""

    promise = Promise("at-least-once", lasting=False)

    @classmethod
    def of(cls, delivery: str = "at-least-once", *, lasting: bool = False, **more: Any) -> Feed:
        """Subscribers are promised this."""
        story = cls(unit_ns=MS, model=PUBSUB, audits={F: Drained(complete=True)}, bound_ns=60_000 * MS)
        story.promise = Promise(delivery, lasting, **more)
        return story

    def join(self, client: str, *, start: int, lasts: int = 10, place: str = F) -> int:
        """A subscriber asks for a subscription, which is confirmed."""
        rows = [_told("subscribed", self.promise, place)]
        if self.promise.replays or self.promise.retained:
            kind = RETAINED if self.promise.retained else REPLAYED
            rows.append({**rows[0], "kind": kind, "name": None, "value": self.promise.replays or 1, "position": None})
        if self.promise.share:
            rows.append({**rows[0], "kind": SHARED, "name": self.promise.share, "value": None, "position": None})
        if self.promise.exclusive:
            rows.append({**rows[0], "kind": EXCLUSIVE, "name": None, "value": 1, "position": None})
        for kind, within_ns in ((LIVELINESS, self.promise.liveliness_ns), (DEADLINE, self.promise.deadline_ns)):
            if within_ns:
                rows.append({**rows[0], "kind": kind, "name": None, "value": within_ns, "position": None})
        return self.op(client, "subscribe", *rows, start=start, lasts=lasts)

    def leave(self, client: str, *, start: int, lasts: int = 10) -> int:
        """A subscription was in place for the last time at the start, and is over at the end."""
        row = _told("unsubscribed", self.promise, F)
        return self.op(client, "unsubscribe", row, start=start, lasts=lasts)

    def part(self, client: str, publisher: str, *, start: int, lasts: int = 10) -> int:
        """A subscriber does not see a publisher any more."""
        row = {**_told(PARTED, self.promise, F), "name": publisher, "value": None, "position": None}
        return self.op(client, "part", row, start=start, lasts=lasts)

    def alarm(self, client: str, publisher: str | None, *, start: int) -> int:
        """A subscriber is told that a publisher is not alive; None: that no message came in time."""
        kind = DEADLINE_MISSED if publisher is None else NOT_ALIVE
        row = {**_told(kind, self.promise, F), "name": publisher, "value": None, "position": None}
        return self.op(client, "alarm", row, start=start, lasts=1)

    def ask(self, client: str, *, start: int, until: int) -> None:
        """A subscriber asks for messages, twice a second, and gets none."""
        for at in range(start, until, 500):
            self.op(client, "receive", start=at)

    def publish(self, *values: int, start: int, outcome: str = "ok", client: str = "p", place: str = F) -> None:
        """Messages are sent, one every 10 ms, each acknowledged 5 ms later."""
        for index, value in enumerate(values):
            self.op(client, "send", sent(place, value), start=start + 10 * index, outcome=outcome)

    def take(self, client: str, *values: int, start: int, delivery: int = 0, payload: str = "ok") -> int:
        """A subscriber receives messages."""
        rows = [received(F, value, None, delivery=delivery, payload=payload) for value in values]
        return self.op(client, "receive", *rows, start=start)
