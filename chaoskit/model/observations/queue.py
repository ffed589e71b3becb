"""What clients of queues learn and do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import Ints, integers, places_in
from chaoskit.model.observations.row import Row, of_kinds

QUEUE_SETTINGS = (
    "message-ttl", "delay", "max-length", "delivery-limit", "priorities", "prefetch", "single-active", "dead-letters",
    "dead-letters-of", "unrouted", "nacks-free", "ends-free", "application",
)  # fmt: skip
"""What a queue can be declared with, or has by itself; times are in ms. `message-ttl`: how long messages live. `delay`:
time from publish to delivery. `max-length`: messages that are kept; the oldest are dropped. `delivery-limit`: number
of returns at which a message is dead-lettered. `priorities`: number of levels. `prefetch`: unsettled deliveries of
each consumer. `single-active` (1): one consumer at a time. `dead-letters` (1): what is dropped goes to another
queue. `dead-letters-of` (1): this is that queue. `unrouted` (1): no queue is bound to this routing key. `nacks-free`
(1): what a consumer returns does not count towards the delivery limit. `ends-free` (1): what comes back because its
consumer has ended does not count. `application` (1): an application under test
consumes it, and what is known of its consumers is what passed their connections."""

DEAD_LETTER_REASONS = ("rejected", "expired", "maxlen", "delivery_limit")
"""Why a message was dead-lettered: rejected by a consumer, expired, or over a limit of length or of returns."""

OTHER_QUEUE = "other-queue"
"""The reason of a dead letter that, as its headers say, was in another queue than the one that it was sent to."""

DECLARED, SUBSCRIBED, CANCELLED = "declared", "subscribed", "cancelled"
ACKED, NACKED, REJECTED = SETTLING = ("acked", "nacked", "rejected")
PRIORITISED, DEAD_LETTERED, DEPTH = "prioritised", "dead-lettered", "depth"


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """A queue is declared with these settings (`declare`).

    Attributes:
        numbers: the number of each setting, one of `QUEUE_SETTINGS`.
    """

    numbers: Mapping[str, int]

    def rows(self) -> Iterator[Row]:
        """Yield a row for each setting."""
        for setting, number in self.numbers.items():
            yield Row(DECLARED, name=setting, position=number)

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Return the settings of a queue; of several numbers of one setting, the last."""
        rows = of_kinds(observations, DECLARED)
        pairs = zip(rows["name"].to_pylist(), rows["position"].to_pylist(), strict=True)
        return cls({name: number for name, number in pairs if name is not None and number is not None})


@dataclass(frozen=True, slots=True)
class Consuming:
    """A consumer begins to receive from the queue (`subscribe`)."""

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(SUBSCRIBED)

    @staticmethod
    def ops(observations: pa.Table) -> Ints:
        """Return the operations that did it."""
        return integers(of_kinds(observations, SUBSCRIBED)["op"])


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The system ended a consumer of the queue (`receive`)."""

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(CANCELLED)


@dataclass(frozen=True, slots=True)
class Settled:
    """A consumer settles a message (`ack`, `nack`, `reject`); a `nack` asks for it once more, a `reject` does not.

    Attributes:
        value: the message.
        how: `ack`, `nack` or `reject`.
    """

    value: int
    how: str

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(f"{self.how}ed", value=self.value)


class Settlements(NamedTuple):
    """All settlements of a queue, in order of `op`.

    Attributes:
        op: the operation.
        value: the message.
        kind: index into `SETTLING`.
    """

    op: Ints
    value: Ints
    kind: Ints

    @classmethod
    def read(cls, observations: pa.Table, kinds: Sequence[str] = SETTLING) -> Self:
        """Read them, or those of some kinds, from the observations of a queue."""
        # There may be one for each message: only what is needed is copied.
        kind = places_in(SETTLING, observations["kind"])
        chosen = np.flatnonzero(np.isin(kind, [SETTLING.index(name) for name in kinds]))
        return cls(integers(observations["op"])[chosen], integers(observations["value"])[chosen], kind[chosen])


@dataclass(frozen=True, slots=True)
class Prioritised:
    """A message is sent with a priority (`send`).

    Attributes:
        value: the message.
        priority: its priority.
    """

    value: int
    priority: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(PRIORITISED, value=self.value, position=self.priority)

    @staticmethod
    def read(observations: pa.Table) -> tuple[Ints, Ints]:
        """Return the messages that were sent with a priority, and the priority of each."""
        rows = of_kinds(observations, PRIORITISED)
        return integers(rows["value"]), integers(rows["position"])


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """A message was received from the queue of dead letters; it belongs to the queue that it was sent to (`receive`).

    Attributes:
        value: the message.
        reason: why, as its headers say: one of `DEAD_LETTER_REASONS`, or another one.
        times: how often it was, as its headers say.
    """

    value: int
    reason: str
    times: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(DEAD_LETTERED, name=self.reason, value=self.value, position=self.times)


class DeadLetters(NamedTuple):
    """All receipts of a queue's messages as dead letters, in order of `op`.

    Attributes:
        op: the operation.
        value: the message.
        reason: index into `DEAD_LETTER_REASONS` with `OTHER_QUEUE` behind them, or `NONE`.
        times: how often it was dead-lettered.
    """

    op: Ints
    value: Ints
    reason: Ints
    times: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Read them from the observations of a queue."""
        rows = of_kinds(observations, DEAD_LETTERED)
        reasons = (*DEAD_LETTER_REASONS, OTHER_QUEUE)
        return cls(
            integers(rows["op"]), integers(rows["value"]), places_in(reasons, rows["name"]), integers(rows["position"])
        )


@dataclass(frozen=True, slots=True)
class Depth:
    """The system reports how many messages are ready in the queue (`audit`).

    Attributes:
        ready: their number.
    """

    ready: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(DEPTH, position=self.ready)

    @staticmethod
    def first(observations: pa.Table) -> tuple[int, int] | None:
        """Return the operation of the first report, and its number; None if there is none."""
        rows = of_kinds(observations, DEPTH)
        return (int(integers(rows["op"])[0]), int(integers(rows["position"])[0])) if rows.num_rows else None
