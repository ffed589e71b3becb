"""What subscribers of feeds are promised, and what they learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import pyarrow as pa

from chaoskit.base.columns import Flags, Ints, codes, integers
from chaoskit.model.observations.row import Row, of_kinds

PROMISES = ("at-most-once", "at-least-once", "exactly-once")
"""What a subscription can promise for each message that is published while it is in place."""

SUBSCRIBED, UNSUBSCRIBED = CHANGES = ("subscribed", "unsubscribed")

REPLAYED, RETAINED = "replayed", "retained"
"""Kinds of further rows of a subscription that begins: what it is given of the time before."""

SHARED = "shared"
"""With whom it is shared."""

LIVELINESS, DEADLINE = "liveliness", "deadline"
"""How soon it hears of the end of publishers, or of a time without messages."""

EXCLUSIVE = "exclusive"
"""It takes messages of one publisher at a time."""

PARTED, NOT_ALIVE, DEADLINE_MISSED = NEWS = ("parted", "not-alive", "deadline-missed")
"""What a subscriber heard: it does not see a publisher any more; a publisher gave no sign of life for too long; no
message came for too long."""


class Promise(NamedTuple):
    """What a subscription promises.

    Attributes:
        delivery: one of `PROMISES`.
        lasting: whether messages that are published while the subscriber is away are kept until it is back.
        keeps: how many of its last messages a publisher keeps of each topic for a subscriber that has not got them yet;
            older ones may be missing, whatever else is promised. None: all.
        replays: how many of its last messages a publisher gives, of each topic, to a subscriber that comes later.
        retained: whether a subscriber that comes later is given the last message of each topic, whoever published it.
        share: the group of subscribers of which one gets each message; empty: each of them gets it.
        liveliness_ns: after how long at most a subscriber hears that a publisher is not alive, ns; 0: it does not.
        deadline_ns: after how long without a message of a topic a subscriber hears so, as long as a publisher is
            there, ns; 0: it does not.
        exclusive: whether a subscriber gets only what the first publisher that is alive has published, in the order of
            their numbers.
    """

    delivery: str
    lasting: bool
    keeps: int | None = None
    replays: int = 0
    retained: bool = False
    share: str = ""
    liveliness_ns: int = 0
    deadline_ns: int = 0
    exclusive: bool = False


class Began(NamedTuple):
    """A subscription with a promise has begun (`subscribe`)."""

    promise: Promise

    def rows(self) -> Iterator[Row]:
        """Yield a row for the subscription, and one for each thing that it is promised further."""
        promise = self.promise
        yield Row(SUBSCRIBED, name=promise.delivery, value=int(promise.lasting), position=promise.keeps)
        if promise.share:
            yield Row(SHARED, name=promise.share)
        if promise.retained:
            yield Row(RETAINED, value=1)
        elif promise.replays:
            yield Row(REPLAYED, value=promise.replays)
        if promise.exclusive:
            yield Row(EXCLUSIVE, value=1)
        for kind, within_ns in ((LIVELINESS, promise.liveliness_ns), (DEADLINE, promise.deadline_ns)):
            if within_ns:
                yield Row(kind, value=within_ns)


class Over(NamedTuple):
    """A subscription with a promise is over (`unsubscribe`)."""

    promise: Promise

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        promise = self.promise
        yield Row(UNSUBSCRIBED, name=promise.delivery, value=int(promise.lasting), position=promise.keeps)


@dataclass(frozen=True, slots=True)
class Heard:
    """A subscriber heard something of publishers.

    Attributes:
        kind: one of `NEWS`.
        publisher: which publisher, by the workload's own name; empty if it is about all of them.
    """

    kind: str
    publisher: str = ""

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(self.kind, name=self.publisher or None)

    @staticmethod
    def read(observations: pa.Table, *kinds: str) -> Heards:
        """Return what subscribers heard, of some kinds, in order of `op`."""
        rows = of_kinds(observations, *kinds)
        return Heards(integers(rows["op"]), rows["kind"].to_pylist(), rows["name"].to_pylist())


class Heards(NamedTuple):
    """What subscribers of a topic heard of publishers.

    Attributes:
        op: the operation.
        kind: one of `NEWS`.
        publisher: which publisher; None if it is about all of them.
    """

    op: Ints
    kind: list[str]
    publisher: list[str | None]


class Promises(NamedTuple):
    """The beginnings and ends of all subscriptions of a topic, in order of `op`.

    Attributes:
        op: the operation.
        began: whether the subscription began.
        delivery: index into `PROMISES`.
        lasting: see `Promise`.
        keeps: see `Promise`; `NONE` for all.
        further: by operation and kind, the number of what a subscription that began is promised further.
    """

    op: Ints
    began: Flags
    delivery: Ints
    lasting: Flags
    keeps: Ints
    further: Mapping[tuple[int, str], int]

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Read them from the observations of a topic."""
        rows = of_kinds(observations, *CHANGES)
        further = of_kinds(observations, REPLAYED, RETAINED, LIVELINESS, DEADLINE, EXCLUSIVE)
        numbers: list[dict[str, Any]] = further.select(["op", "kind", "value"]).to_pylist()
        return cls(
            integers(rows["op"]),
            codes(rows["kind"], CHANGES) == CHANGES.index(SUBSCRIBED),
            codes(rows["name"], PROMISES),
            integers(rows["value"]) == 1,
            integers(rows["position"]),
            {(row["op"], row["kind"]): row["value"] for row in numbers},
        )

    def more(self, op: int, kind: str) -> int:
        """Return the number of what the subscription that an operation began is promised further; 0 if it is not."""
        return self.further.get((op, kind), 0)


def shares(observations: pa.Table) -> tuple[Ints, list[str]]:
    """Return the operations with which shared subscriptions began, and the share of each."""
    rows = of_kinds(observations, SHARED)
    return integers(rows["op"]), rows["name"].to_pylist()
