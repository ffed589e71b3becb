"""The checker of consumer groups: committed positions and the ownership of partitions.

What cannot be concluded: a group is assumed to begin at the first position that the system has; two owners are
distinguished by their generation, so without generations they are not checked; and an owner that never moved on may
have died.

Cost: O(n) for n messages, only if a group was active.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from chaoskit.contract.anomaly import About, Anomaly
from chaoskit.contract.checker import Part
from checkers.arrays.columns import NONE, Ints, is_one_of
from checkers.arrays.findings import findings_of, merged, no_findings, received_after
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.membership import (
    ACTS,
    NEVER_NS,
    Commits,
    Delivered,
    Membership,
    Ownerships,
    delivered,
    deliveries_ns,
    pauses_ns,
    seeks_ns,
)
from checkers.subscription.handover import PASSED_OVER, passed_over_cases

COMMIT_REGRESSION = Anomaly(
    "commit-regression",
    "a group's committed position went back",
    IN_LOGS,
    about=About.READING,
    shared=True,
)


def regression_cases(view: LogView, commits: Commits, seeks: Ints) -> pa.Table:
    """Find commits below a position that the group had committed before, without a seek by a member in between.

    Evidence: `op` committed `position`, starting at `at_ns`; `other_op` had committed `other_position`.
    """
    start_ns, end_ns = view.operations.start_ns[commits.operation], view.operations.end_ns[commits.operation]
    stretch = np.searchsorted(seeks, start_ns)
    rows, before = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for one in np.unique(stretch):
        own = np.flatnonzero(stretch == one)
        ended = own[np.argsort(end_ns[own], kind="stable")]
        highest = np.maximum.accumulate(commits.position[ended])
        count = np.searchsorted(end_ns[ended], start_ns[own])
        above = highest[count - 1]
        back = (count > 0) & (above > commits.position[own])
        rows.append(own[back])
        before.append(ended[np.searchsorted(highest, above[back])])
    return _commit_findings(view, COMMIT_REGRESSION, commits, np.concatenate(rows), np.concatenate(before))


COMMIT_BEYOND = Anomaly(
    "commit-beyond",
    "a group committed past a message that no member had received: a restart loses it",
    IN_LOGS,
    about=About.READING,
    implies=("passed-over",),
    shared=True,
)


def beyond_cases(view: LogView, commits: Commits, members: Ints) -> pa.Table:
    """Find commits past a visible message that no member of the group had received: a restart loses it.

    Evidence: `op` committed `position`, starting at `at_ns`; `other_position` and `other_value` are the first
    such message.
    """
    known = delivered(view, members)
    audit = view.setting.bounds
    kept = known.position >= (audit.low if audit else 0)
    position, first_ns = known.position[kept], known.first_ns[kept]
    if not (position.size and commits.position.size):
        return no_findings()
    start_ns = view.operations.start_ns[commits.operation]
    latest_ns = np.maximum.accumulate(first_ns)
    count = np.searchsorted(position, commits.position)
    rows = np.flatnonzero((count > 0) & (latest_ns[count - 1] > start_ns))
    missed = np.searchsorted(latest_ns, start_ns[rows], side="right")
    at = view.first_received_at(view.visible_positions[kept][missed])
    return findings_of(
        view.setting,
        COMMIT_BEYOND,
        value=np.full(rows.size, NONE),
        position=commits.position[rows],
        op=view.operations.op[commits.operation[rows]],
        other_value=view.intact.value[at],
        other_position=position[missed],
        at_ns=start_ns[rows],
    )


REPROCESSED = Anomaly(
    "reprocessed",
    "a member of a group received what another member had received before: it may be processed twice",
    IN_LOGS,
    measured=True,
    about=About.READING,
    shared=True,
    notable=True,
)


def reprocessed_cases(view: LogView, members: Ints) -> pa.Table:
    """Find receives of a position that another member of the group had received before, in order of time.

    At-least-once processing allows it: who takes a partition over begins at the committed position. Evidence: `op`
    received it again, at `at_ns`, after `other_op`, in which the member before had received `other_value`.
    """
    process = view.operations.process[view.receives.operation]
    rows = np.flatnonzero(np.isin(process, members) & (view.read_positions != NONE))
    several = np.bincount(view.read_positions[rows], minlength=view.positions.size) > 1
    rows = rows[several[view.read_positions[rows]]]
    rows = rows[np.lexsort((rows, view.receives.received_ns[rows], view.read_positions[rows]))]
    place, value = view.read_positions[rows], view.receives.value[rows]
    same = (place[1:] == place[:-1]) & (value[1:] == value[:-1])
    taken = np.flatnonzero(same & (process[rows[1:]] != process[rows[:-1]]))
    before, after = view.receives.take(rows[taken]), view.receives.take(rows[taken + 1])
    return received_after(view, REPROCESSED, before, after)


DOUBLE_ASSIGNMENT = Anomaly(
    "double-assignment",
    "two members of a group owned the same partition at the same time",
    IN_LOGS,
    about=About.READING,
    shared=True,
)


def double_cases(view: LogView, ownerships: Ownerships) -> pa.Table:
    """Find members that owned the partition while another member did, in the same generation.

    Evidence: `op` assigned it, starting at `at_ns`, while it was still assigned by `other_op`.
    """
    sure = np.flatnonzero((ownerships.generation >= 0) & (ownerships.from_ns != NONE))
    sure = sure[ownerships.until_ns[sure] > ownerships.from_ns[sure]]
    sure = sure[np.lexsort((ownerships.from_ns[sure], ownerships.generation[sure]))]
    pairs = []
    longest = sure[0] if sure.size else NONE
    for before, row in pairwise(sure.tolist()):
        longest = before if ownerships.until_ns[before] >= ownerships.until_ns[longest] else longest
        if ownerships.generation[longest] != ownerships.generation[row]:
            longest = row
        elif ownerships.until_ns[longest] > ownerships.from_ns[row]:
            pairs.append((row, longest))
    later, earlier = np.array(pairs, np.int64).reshape(-1, 2).T
    return findings_of(
        view.setting,
        DOUBLE_ASSIGNMENT,
        value=np.full(later.size, NONE),
        position=np.full(later.size, NONE),
        op=view.operations.op[ownerships.operation[later]],
        other_op=view.operations.op[ownerships.operation[earlier]],
        at_ns=ownerships.from_ns[later],
    )


STUCK_PARTITION = Anomaly(
    "stuck-partition",
    "an owner, or the whole group, received nothing for the whole bound after healing, although messages existed",
    IN_LOGS,
    about=About.READING,
    shared=True,
)


STUCK_DETAILS = ("its owner received nothing", "no member received anything")


def stuck_cases(view: LogView, ownerships: Ownerships, members: Ints, pauses: Ints) -> pa.Table:
    """Find owners that received nothing for the whole bound after all healing, although messages existed and they were
    not paused.

    Evidence: `op` assigned the partition; `other_op` had sent `value`, which no member of the group had received
    when the bound ended, at `at_ns`.
    """
    setting = view.setting
    healed_ns = _healed_ns(view)
    quiet = [
        (row, gap)
        for row in np.flatnonzero(ownerships.until_ns - np.maximum(ownerships.from_ns, healed_ns) > setting.bound_ns)
        for gap in _gaps(view, ownerships, int(row), healed_ns, pauses)
    ]
    if not quiet:
        return no_findings()
    known = delivered(view, members)
    acked = np.flatnonzero(known.send != NONE)
    acked = acked[view.acked[known.send[acked]]]
    acked_ns = view.operations.end_ns[view.sends.operation[known.send[acked]]]
    rows, pending, ends = [], [], []
    for row, (from_ns, until_ns) in quiet:
        waiting = acked[(acked_ns <= until_ns - setting.bound_ns) & (known.first_ns[acked] >= until_ns)]
        if waiting.size:
            rows.append(row)
            pending.append(waiting[0])
            ends.append(max(from_ns, int(acked_ns[acked == waiting[0]][0])) + setting.bound_ns)
    return _stuck(view, 0, known, pending, ownerships.operation[np.array(rows, np.int64)], ends)


def abandoned_cases(view: LogView, operations: pa.Table, ownerships: Ownerships, others: Ints) -> pa.Table:
    """Find a group of which no member received anything for the whole bound after all healing, until the last member
    left, although later messages existed: the partition may have had no owner any more. Only if a member owned it once.
    Installation that are members of other groups do not count.

    Evidence: `op` is the `subscribe` of that member; `other_op` had sent `value`, which no member had received when the
    bound ended, at `at_ns`.
    """
    rows, setting = view.operations, view.setting
    joined = np.flatnonzero(is_one_of(operations["f"], ["subscribe"]) & ~np.isin(rows.process, others))
    left = np.flatnonzero(is_one_of(operations["f"], ["close"]) & np.isin(rows.process, rows.process[joined]))
    if not (left.size and np.isin(rows.process[ownerships.operation], rows.process[joined]).any()):
        return no_findings()
    last = left[np.argmax(rows.start_ns[left])]
    until_ns = int(rows.start_ns[last])
    join = joined[rows.process[joined] == rows.process[last]][-1]
    members = rows.process[joined]
    own = np.isin(rows.process[view.receives.operation], members)
    went_on_ns = pauses_ns(operations, rows, members)[:, 2].max(initial=0)
    received_ns = view.receives.received_ns[own].max(initial=0)
    from_ns = max(_healed_ns(view), int(rows.end_ns[join]), int(received_ns), int(went_on_ns))
    if until_ns - from_ns <= setting.bound_ns:
        return no_findings()
    known = delivered(view, members)
    received = known.position[known.first_ns < NEVER_NS]
    waiting = np.flatnonzero((known.send != NONE) & (known.position > received.max(initial=NONE)))
    waiting = waiting[view.acked[known.send[waiting]]]
    acked_ns = rows.end_ns[view.sends.operation[known.send[waiting]]]
    waiting, acked_ns = (each[acked_ns <= until_ns - setting.bound_ns][:1] for each in (waiting, acked_ns))
    ends = np.maximum(from_ns, acked_ns) + setting.bound_ns
    return _stuck(view, 1, known, waiting, np.full(waiting.size, join), ends)


def _stuck(  # noqa: PLR0917 - columns of one finding
    view: LogView, detail: int, known: Delivered, waiting: Sequence[int] | Ints, since: Ints, ends: Sequence[int] | Ints
) -> pa.Table:
    rows = np.array(waiting, np.int64)
    send = known.send[rows]
    return findings_of(
        view.setting,
        STUCK_PARTITION,
        details=STUCK_DETAILS,
        detail=detail,
        value=view.sends.value[send],
        position=known.position[rows],
        op=view.operations.op[since],
        other_op=view.operations.op[view.sends.operation[send]],
        at_ns=np.array(ends, np.int64),
    )


def _healed_ns(view: LogView) -> int:
    faults = view.setting.faults
    return max((NEVER_NS if fault.healed_ns is None else fault.healed_ns for fault in faults), default=0)


def _gaps(view: LogView, ownerships: Ownerships, row: int, healed_ns: int, pauses: Ints) -> list[tuple[int, int]]:
    """Return the intervals, longer than the bound, in which an owner received nothing after all healing."""
    from_ns, until_ns = max(int(ownerships.from_ns[row]), healed_ns), int(ownerships.until_ns[row])
    process = int(view.operations.process[ownerships.operation[row]])
    own = pauses[pauses[:, 0] == process, 1:]
    times = np.unique(np.concatenate([deliveries_ns(view, process), own.ravel()]))
    inside = times[(times > from_ns) & (times < until_ns)].tolist()
    gaps = [(a, b) for a, b in pairwise([from_ns, *inside, until_ns]) if b - a > view.setting.bound_ns]
    return [(a, b) for a, b in gaps if not ((own[:, 0] <= a) & (a < own[:, 1])).any()]


def _commit_findings(view: LogView, anomaly: Anomaly, commits: Commits, rows: Ints, before: Ints) -> pa.Table:
    return findings_of(
        view.setting,
        anomaly,
        value=np.full(rows.size, NONE),
        position=commits.position[rows],
        op=view.operations.op[commits.operation[rows]],
        other_position=commits.position[before],
        other_op=view.operations.op[commits.operation[before]],
        at_ns=view.operations.start_ns[commits.operation[rows]],
        since_ns=view.operations.start_ns[commits.operation[before]],
    )


class GroupChecker:
    """Detects the anomalies of consumer groups in one partition; a `Checker`."""

    anomalies = (COMMIT_REGRESSION, COMMIT_BEYOND, PASSED_OVER, REPROCESSED, DOUBLE_ASSIGNMENT, STUCK_PARTITION)
    models = IN_LOGS

    def check(self, part: Part) -> pa.Table:
        """Return the findings of all groups."""
        if not is_one_of(part.observations["kind"], ACTS).any():
            return no_findings()
        view, operations = part.view(LogView), part.operations
        membership = Membership.of(part.observations, operations, view.operations)
        found = [no_findings()]
        of_groups = [membership.members(group, view.operations) for group in range(len(membership.groups))]
        everybody = np.concatenate([np.zeros(0, np.int64), *of_groups])
        for group, members in enumerate(of_groups):
            commits = membership.commits.take(np.flatnonzero(membership.commits.group == group))
            ownerships = membership.ownerships.take(np.flatnonzero(membership.ownerships.group == group))
            found += [
                regression_cases(view, commits, seeks_ns(operations, view.operations, members)),
                beyond_cases(view, commits, members),
                passed_over_cases(
                    view, operations, members, everybody, commits_told=bool(membership.commits_told[group])
                ),
                reprocessed_cases(view, members),
                double_cases(view, ownerships),
            ]
            pauses = pauses_ns(operations, view.operations, members)
            stuck = stuck_cases(view, ownerships, members, pauses)
            if not stuck.num_rows:
                others = np.concatenate([members[:0], *(each for each in of_groups if each is not members)])
                stuck = abandoned_cases(view, operations, ownerships, np.setdiff1d(others, members))
            found.append(stuck)
        return merged(found)
