"""Deviations from a correct history, applied by the streams of operations and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chaoskit.testing.synthetic.consumption import Mark
from chaoskit.testing.synthetic.randomness import Ints
from chaoskit.testing.synthetic.sends import SlotSends

HIDE_FROM_CONSUMERS, HIDE_FROM_AUDITOR, CORRUPT, REWIND, EXCHANGE = 1, 2, 4, 8, 16
"""Effects on a stored message: hidden from consumers, hidden from the final read, damaged, read again with the
REWIND_BY messages before it, and swapped with the next one for consumers."""

REWIND_BY = 3


@dataclass(slots=True)
class EditedOutcome:
    """A changed outcome of an operation; `end_ns` None keeps the original end."""

    outcome: int
    error: str | None = None
    end_ns: int | None = None


@dataclass(slots=True)
class PartitionEdits:
    """The deviations of one partition; keys are numbers of sends of the partition.

    Attributes:
        stored: whether the send is in the log after all.
        content: value, both send times and key of the message at the position of this send.
        flags: effects on the message at the position.
        acked_as: the send whose position the acknowledgement reports; -1 if none.
        outcomes: changed outcomes.
        cut: number of last messages that are missing at the final read.
        unread: number of last messages that no client reads; the final read is then incomplete.
        silent_from: the slot from which on consumers receive nothing.
        found: position of each of `wanted`, known after the partition was written.
        wanted: sends whose position must be recorded.
    """

    stored: dict[int, bool] = field(default_factory=dict)
    content: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    flags: dict[int, int] = field(default_factory=dict)
    acked_as: dict[int, int] = field(default_factory=dict)
    outcomes: dict[int, EditedOutcome] = field(default_factory=dict)
    cut: int = 0
    unread: int = 0
    silent_from: int | None = None
    wanted: set[int] = field(default_factory=set)
    found: dict[int, int] = field(default_factory=dict)

    def apply(self, sends: SlotSends) -> None:
        """Apply changes to which sends are stored and how they ended."""
        for number, stored in inside(self.stored, sends.number):
            sends.stored[number] = stored
        for number, ended in inside(self.outcomes, sends.number):
            sends.outcome[number] = ended.outcome
            if ended.end_ns is not None:
                sends.end_ns[number] = ended.end_ns


def inside(changes: dict[int, Any], number: Ints) -> list[tuple[int, Any]]:
    """Return the changes to a run of consecutive sends, by their index in it."""
    if not (changes and number.size):
        return []
    first, last = int(number[0]), int(number[-1])
    return [(at - first, change) for at, change in changes.items() if first <= at <= last]


@dataclass(slots=True)
class Edits:
    """The deviations of a history.

    Attributes:
        partitions: by number; absent partitions are correct.
        operations: by op.
        marks: additional rows of partitions.
        stalls: intervals without acknowledgements although there is no fault.
        truth: what must be found: rows with the first columns of FINDINGS, and `cause`; `at` is the send whose
            position it is, if that is not known yet.
    """

    partitions: dict[int, PartitionEdits] = field(default_factory=dict)
    operations: dict[int, EditedOutcome] = field(default_factory=dict)
    marks: list[tuple[int, Mark]] = field(default_factory=list)
    stalls: list[tuple[int, int]] = field(default_factory=list)
    truth: list[dict[str, Any]] = field(default_factory=list)

    def of(self, partition: int) -> PartitionEdits:
        """Return the edits of a partition, for modification."""
        return self.partitions.setdefault(partition, PartitionEdits())


NO_EDITS = PartitionEdits()


def positions_of(sends: SlotSends, first: int) -> Ints:
    """Return the position of each send, given that of the first stored one; meaningless for sends not stored."""
    return first - 1 + np.cumsum(sends.stored)
