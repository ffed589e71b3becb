"""Deviations from a correct history, as the streams of operations and messages apply them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checkers.synthetic.consumption import Mark
from checkers.synthetic.randomness import Ints
from checkers.synthetic.sends import Sends

HIDE_FROM_CONSUMERS, HIDE_FROM_AUDITOR, CORRUPT, REWIND, EXCHANGE = 1, 2, 4, 8, 16
"""What befalls a stored message: not given to consumers, not given to the final read, damaged,
read again with the REWIND_BY before it, and given to consumers in exchange with the next one."""

REWIND_BY = 3


@dataclass(slots=True)
class Outcome:
    """How an operation ended instead; `end_ns` None: as it did."""

    outcome: int
    error: str | None = None
    end_ns: int | None = None


@dataclass(slots=True)
class PartitionEdits:
    """What is different in one partition; keys are numbers of sends of the partition.

    Attributes:
        stored: whether the send is in the log after all.
        content: value, both send times and key of what lies where this send lies.
        flags: what befalls the message that lies there.
        acked_as: the send whose position its acknowledgement names; -1: none.
        outcomes: how the send ended.
        cut: so many of the last messages are gone at the final read.
        unread: so many of the last messages are read by nobody, and the final read is incomplete.
        silent_from: from this slot on consumers receive nothing.
        found: position of each of `wanted`, known once the partition was written.
        wanted: sends whose position is to be remembered.
    """

    stored: dict[int, bool] = field(default_factory=dict)
    content: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    flags: dict[int, int] = field(default_factory=dict)
    acked_as: dict[int, int] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    cut: int = 0
    unread: int = 0
    silent_from: int | None = None
    wanted: set[int] = field(default_factory=set)
    found: dict[int, int] = field(default_factory=dict)

    def apply(self, sends: Sends) -> None:
        """Change which sends are stored and how they ended."""
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
    """What is different in a history.

    Attributes:
        partitions: by number; absent: correct.
        operations: by op.
        marks: further rows of partitions.
        stalls: times in which nothing is acknowledged, no fault being under way.
        truth: what must be found: rows of FINDINGS' first columns, and `cause`; `at` is the send
            whose position it is, where that is still to be found.
    """

    partitions: dict[int, PartitionEdits] = field(default_factory=dict)
    operations: dict[int, Outcome] = field(default_factory=dict)
    marks: list[tuple[int, Mark]] = field(default_factory=list)
    stalls: list[tuple[int, int]] = field(default_factory=list)
    truth: list[dict[str, Any]] = field(default_factory=list)

    def of(self, partition: int) -> PartitionEdits:
        """Return the edits of a partition, to be extended."""
        return self.partitions.setdefault(partition, PartitionEdits())


NO_EDITS = PartitionEdits()


def positions_of(sends: Sends, first: int) -> Ints:
    """Return the position of each send, given that of the first stored one; meaningless for the others."""
    return first - 1 + np.cumsum(sends.stored)
