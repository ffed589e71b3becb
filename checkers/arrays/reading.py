"""The order in which each consumer read the log, split where it may have been repositioned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints
from checkers.arrays.columns import changes, stable_order
from checkers.arrays.rows import Operations, Receives


@dataclass(frozen=True, slots=True)
class Reading:
    """All receives of polls with a known position, process by process, in the order of reading.

    A session is a part of one process without `assign`, `subscribe` or `seek`. A transaction that polls and does not
    commit moves its consumer only until it ends, as in Jepsen's `poll-skip+nonmonotonic-cases-per-process` (kafka.clj
    of jepsen-io/jepsen), which remembers the last read of committed ones only.

    Attributes:
        row: row of the receive.
        session: number of its session, ascending.
        kept: whether it moved the consumer for good; None: each did.
        before: index of the receive after which it was read, `NONE` if there is none; None: the one that stands before
            it.
    """

    row: Ints
    session: Ints
    kept: Flags | None = None
    before: Ints | None = None

    def lasting(self) -> tuple[Ints, Ints]:
        """Return rows and sessions of the receives that moved their consumer for good."""
        return (self.row, self.session) if self.kept is None else (self.row[self.kept], self.session[self.kept])

    def jumps(self, ids: Ints) -> tuple[Ints, Ints]:
        """Return the rows (before, after) of receives of one session that were read one after the other, at positions
        that do not follow each other, given the id of each row's position."""
        position, session = ids[self.row], self.session
        if self.before is None:
            before = np.flatnonzero((np.diff(position) != 1) & (session[1:] == session[:-1]))
            return self.row[before], self.row[before + 1]
        follows = (position - position[self.before] == 1) | (session != session[self.before]) | (self.before == NONE)
        after = np.flatnonzero(~follows)
        return self.row[self.before[after]], self.row[after]


def reading_of(receives: Receives, operations: Operations) -> Reading:
    """Return the order of reading. Cost: O(n) time, 12 bytes per message."""
    order = stable_order(operations.process[receives.operation])
    if receives.position.min(initial=0) < 0:
        order = order[receives.position[order] != NONE]
    if operations.takes.any():
        order = order[~operations.takes[receives.operation[order]]]
    operation = receives.operation[order]
    starts = changes(operation)
    polls = operation[starts]
    begins = changes(operations.process[polls], _repositionings_before(polls, operations))
    session = np.cumsum(begins, dtype=np.int32)
    counts = np.diff(np.append(np.flatnonzero(starts), order.size))
    session = np.repeat(session, counts)
    if not operations.stays.any():
        return Reading(order, session)
    kept = ~operations.stays[operation]
    return Reading(order, session, kept, _before(starts, kept))


def _before(starts: Flags, kept: Flags) -> Ints:
    """Return after which receive each one was read, given whether it is the first of its operation, and whether that
    moved the consumer for good."""
    index = np.arange(kept.size)
    last_kept = np.append(NONE, np.maximum.accumulate(np.where(kept, index, NONE))[:-1])
    before: Ints = np.where(starts, last_kept, index - 1)
    return before


def _repositionings_before(polls: Ints, operations: Operations) -> Ints:
    """Count for each poll the repositionings that its process invoked before the poll ended.

    The end of the poll counts, not its start: a client's rebalance callback runs inside a poll, whose messages
    then belong to the new assignment.
    """
    process = operations.process[polls]
    # A poll that never ended has NONE there, which lies before its start.
    ended_ns = np.maximum(operations.start_ns[polls], operations.end_ns[polls])
    repositioning = np.flatnonzero(operations.repositions)
    counts = np.zeros(polls.size, np.int64)
    for one in np.unique(operations.process[repositioning]):
        first, last = np.searchsorted(process, [one, one + 1])
        own_ns = operations.start_ns[repositioning[operations.process[repositioning] == one]]
        counts[first:last] = np.searchsorted(np.sort(own_ns), ended_ns[first:last], side="right")
    return counts
