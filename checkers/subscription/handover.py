"""Messages that no member of a group was ever given, although the group received earlier and later ones.

A member begins where the one before left off, or before that. What lies between counts if it is in the log at the end
and was acknowledged to its producer, committed if it belongs to a transaction. Where a group began, and where it had to
end, nothing is concluded, nor from a move that a member made itself (`seek`, `replay`). What somebody received who was
subscribed, but is not known to be of any group, may have been this group's.

What cannot be concluded: if a group commits by itself (no commit was recorded) and a member was killed while it asked
for messages, what followed the last message that it is known to have received may have been given to it.

Cost: O(n log n) for n receives of a group.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.workloads.traits import Group
from checkers.arrays.columns import marked
from checkers.arrays.findings import findings_of, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.membership import seeks_ns

PASSED_OVER = Anomaly(
    "passed-over",
    "a group continued behind an acknowledged message that none of its members received",
    IN_LOGS,
    about=About.READING,
    shared=True,
    only_with=Group,
)


def passed_over_cases(
    view: LogView, operations: pa.Table, members: Ints, others: Ints, *, commits_told: bool
) -> pa.Table:
    """Find acknowledged messages in the log that no member of the group ever received, between those that it did.

    Evidence: `value` and `position` are the message's; `op` received what the group was given next in the log
    (`other_value`, `other_position`), at `at_ns`; `other_op` had received what lies before.

    Args:
        view: the partition.
        operations: schema `OPERATIONS`.
        members: processes of the group.
        others: processes of all groups.
        commits_told: whether commits of the group were recorded.
    """
    rows, reads = view.operations, view.receives
    process, placed = rows.process[reads.operation], view.read_positions != NONE
    own = np.flatnonzero(np.isin(process, members) & placed)
    if not own.size:
        return no_findings()
    own = own[np.lexsort((reads.received_ns[own], view.read_positions[own]))]
    places, first = np.unique(view.read_positions[own], return_index=True)
    strangers = np.setdiff1d(rows.process[is_one_of(operations["f"], ["subscribe"])], others)
    missed, values = _missed(view, places, np.concatenate([members, strangers]))
    at = np.searchsorted(places, missed)
    after, before = own[first[at]], own[first[at - 1]]
    moved = _moved(seeks_ns(operations, rows, members), reads.received_ns[before], reads.received_ns[after])
    unsure = moved if commits_told else moved | _unended(view, before)
    unsure = unsure | (view.since_ns[values] <= reads.received_ns[after])
    missed, values, after, before = missed[~unsure], values[~unsure], after[~unsure], before[~unsure]
    return findings_of(
        view.setting,
        PASSED_OVER,
        value=view.sends.value[view.first_acks[values]],
        position=view.positions.numbers(missed),
        op=rows.op[reads.operation[after]],
        other_value=reads.value[after],
        other_position=reads.position[after],
        other_op=rows.op[reads.operation[before]],
        at_ns=reads.received_ns[after],
    )


def _missed(view: LogView, places: Ints, processes: Ints) -> tuple[Ints, Ints]:
    """Return the positions (ids) between the first and the last of `places` with an acknowledged message that none of
    these processes received there or elsewhere, and the messages' values (ids)."""
    rows, audit = view.operations, view.setting.bounds
    placed = view.placed
    if audit is not None and audit.complete:
        placed = placed[rows.audits[view.intact.operation[placed]]]
    values = np.full(view.positions.size, NONE)
    values[view.intact_positions[placed]] = view.intact_values[placed]
    received = np.isin(rows.process[view.receives.operation], processes)
    seen = marked(view.positions.size, view.read_positions[received & (view.read_positions != NONE)])
    had = marked(view.values.size, view.intact_values[np.isin(rows.process[view.intact.operation], processes)])
    missed = np.flatnonzero((values != NONE) & ~seen)
    missed = missed[(missed > places[0]) & (missed < places[-1])]
    missed = missed[view.positions.numbers(missed) >= (audit.low if audit else 0)]
    missed = missed[(view.first_acks[values[missed]] != NONE) & ~had[values[missed]]]
    return missed, values[missed]


def _moved(seeks: Ints, before_ns: Ints, after_ns: Ints) -> Flags:
    """Return whether a member sought another position between these times."""
    earlier, later = np.minimum(before_ns, after_ns), np.maximum(before_ns, after_ns)
    moved: Flags = np.searchsorted(seeks, later, side="right") > np.searchsorted(seeks, earlier)
    return moved


def _unended(view: LogView, before: Ints) -> Flags:
    """Return whether each of these receives is the last one of a process that asked again and was never answered."""
    rows, reads = view.operations, view.receives
    process = rows.process[reads.operation]
    highest = np.full(int(rows.process.max(initial=0)) + 1, NONE, np.int64)
    np.maximum.at(highest, process, view.read_positions)
    killed = marked(highest.size, rows.process[rows.wants & (rows.end_ns == NONE)])
    unended: Flags = killed[process[before]] & (highest[process[before]] == view.read_positions[before])
    return unended
