"""Rows of consumer groups: ownership of a partition, commits, and deliveries to a group.

A consumer owns an assigned partition from the end of the `assign` to the start of its process's next `assign`, `revoke`
or `close`. If there is none, the end is unknown, and no ownership is assumed at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, is_one_of
from chaoskit.model.observations.group import GroupActs
from checkers.arrays.columns import NEVER_NS, marked
from checkers.arrays.rows import Operations, Rows
from checkers.arrays.view import LogView

_MOVING = ("assign", "revoke", "close")


@dataclass(frozen=True, slots=True)
class Commits(Rows):
    """Positions of acknowledged commits, by group."""

    group: Ints
    position: Ints
    operation: Ints


@dataclass(frozen=True, slots=True)
class Ownerships(Rows):
    """Intervals of ownership; `until_ns` is not after `from_ns` if nothing is certain."""

    group: Ints
    generation: Ints
    operation: Ints
    from_ns: Ints
    until_ns: Ints


@dataclass(frozen=True, slots=True)
class GroupActivity:
    """The activity of consumer groups in one partition.

    Attributes:
        groups: their names; the other tables number them.
        commits: in order of invocation.
        ownerships: in order of invocation.
        commits_told: whether commits of each group were recorded, with whatever outcome.
    """

    groups: list[str]
    commits: Commits
    ownerships: Ownerships
    commits_told: Flags

    @classmethod
    def of(cls, observations: pa.Table, operations: pa.Table, rows: Operations) -> Self:
        """Read the rows of one partition.

        Args:
            observations: schema `OBSERVATIONS`.
            operations: schema `OPERATIONS`.
            rows: the same operations as arrays.
        """
        acts = GroupActs.read(observations)
        group, assigned, operation = acts.group, acts.assigned, rows.rows_of(acts.op)
        committed = ~assigned & (rows.outcome[operation] == 0)
        commits = Commits(group[committed], acts.next_position[committed], operation[committed])
        until_ns = _next_move_ns(operation[assigned], operations, rows)
        ownerships = Ownerships(
            group[assigned],
            acts.generation[assigned],
            operation[assigned],
            rows.end_ns[operation[assigned]],
            until_ns,
        )
        return cls(acts.groups, commits, ownerships, marked(len(acts.groups), group[~assigned]))

    def members(self, group: int, rows: Operations) -> Ints:
        """Return the processes that owned the partition, or committed, for a group."""
        acted = np.concatenate([acts.operation[acts.group == group] for acts in (self.commits, self.ownerships)])
        return np.unique(rows.process[acted])


@dataclass(frozen=True, slots=True)
class Delivered:
    """The visible positions, ascending, and when a group first received each.

    Attributes:
        position: the position.
        first_ns: when a member first received it; the largest time if never.
        gone_ns: from when on it may be gone from a compacted log; the largest time if never.
        send: row of the send of the message at the position, or `NONE`.
    """

    position: Ints
    first_ns: Ints
    gone_ns: Ints
    send: Ints


def delivered(view: LogView, members: Ints) -> Delivered:
    """Return when these processes first received the message at each visible position."""
    ids, reads = view.visible_positions, view.receives
    by_member = np.isin(view.operations.process[reads.operation], members) & (view.read_positions != NONE)
    first_ns = np.full(view.positions.size, NEVER_NS)
    np.minimum.at(first_ns, view.read_positions[by_member], reads.received_ns[by_member])
    value = view.intact_values[view.first_received_at(ids)]
    return Delivered(view.positions.numbers(ids), first_ns[ids], view.since_ns[value], view.first_sends[value])


def deliveries_ns(view: LogView, process: int) -> Ints:
    """Return when a process received messages, ascending."""
    own = view.operations.process[view.receives.operation] == process
    return np.unique(view.receives.received_ns[own])


def pauses_ns(operations: pa.Table, rows: Operations, members: Ints) -> Ints:
    """Return process, begin and end of each pause of these processes; one that does not go on pauses until it ends."""
    paused = np.flatnonzero(is_one_of(operations["f"], ["pause"]) & np.isin(rows.process, members))
    if not paused.size:
        return np.zeros((0, 3), np.int64)
    process, following = rows.process[paused], _following(operations, rows, ("pause", "unpause"))[paused]
    end_ns = rows.end_ns[following]
    for row in np.flatnonzero(following == NONE):
        end_ns[row] = rows.end_ns[rows.process == process[row]].max()
    return np.stack([process, rows.start_ns[paused], end_ns], axis=1)


def seeks_ns(operations: pa.Table, rows: Operations, members: Ints) -> Ints:
    """Return when any of these processes sought another position in the partition of these rows, ascending."""
    seeks: Flags = is_one_of(operations["f"], ["seek", "replay"]) & rows.repositions & np.isin(rows.process, members)
    return np.sort(rows.start_ns[seeks])


def _next_move_ns(operation: Ints, operations: pa.Table, rows: Operations) -> Ints:
    """Return when the process of each of these operations was repositioned next; `NONE` if never."""
    following = _following(operations, rows, _MOVING)[operation]
    return np.where(following == NONE, NONE, rows.start_ns[following])


def _following(operations: pa.Table, rows: Operations, fs: Sequence[str]) -> Ints:
    """Return for each operation among those with these `f` the row of its process's next one; else `NONE`."""
    chosen = np.flatnonzero(is_one_of(operations["f"], fs))
    chosen = chosen[np.lexsort((rows.start_ns[chosen], rows.process[chosen]))]
    following = np.full(rows.op.size, NONE)
    same = rows.process[chosen[1:]] == rows.process[chosen[:-1]]
    following[chosen[:-1][same]] = chosen[1:][same]
    return following
