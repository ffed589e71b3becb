"""The checker of consumer groups: committed positions and the ownership of partitions.

What cannot be concluded: a group is assumed to begin at the first position that the system has; two owners are
distinguished by their generation, so without generations they are not checked; and an owner that never moved on may
have died.

Cost: O(n) for n messages, only if a group was active.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.base.realtime import below_earlier
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import Part
from chaoskit.contract.workloads.traits import Group
from chaoskit.model.observations.group import ASSIGNED, COMMITTED
from chaoskit.model.observations.log import PartitionCount
from chaoskit.model.observations.row import of_kinds
from checkers.arrays.findings import findings_of, merged, no_findings, received_after
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.membership import Commits, GroupActivity, Ownerships, delivered, seeks_ns
from checkers.subscription.handover import PASSED_OVER, passed_over_cases
from checkers.subscription.moved_keys import EXTRACTS, KEY_OVERTAKEN, extract_of, moved_cases
from checkers.subscription.standing import STUCK_PARTITION, standing_cases
from checkers.subscription.unowned import UNOWNED, unowned_cases

COMMIT_REGRESSION = Anomaly(
    "commit-regression",
    "a group's committed position went back",
    IN_LOGS,
    about=About.READING,
    shared=True,
    needs=("committed",),
    only_with=Group,
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
        position = commits.position[own]
        back, above = below_earlier(start_ns[own], position, end_ns[own], position)
        rows.append(own[back])
        before.append(own[above])
    return _commit_findings(view, COMMIT_REGRESSION, commits, np.concatenate(rows), np.concatenate(before))


COMMIT_BEYOND = Anomaly(
    "commit-beyond",
    "a group committed past a message that no member had received: a restart loses it",
    IN_LOGS,
    about=About.READING,
    implies=("passed-over",),
    shared=True,
    needs=("committed",),
    only_with=Group,
)


def beyond_cases(view: LogView, commits: Commits, members: Ints) -> pa.Table:
    """Find commits past a visible message that no member of the group had received: a restart loses it.

    Evidence: `op` committed `position`, starting at `at_ns`; `other_position` and `other_value` are the first
    such message.
    """
    known = delivered(view, members)
    audit = view.setting.bounds
    kept = known.position >= (audit.low if audit else 0)
    position, first_ns = known.position[kept], np.minimum(known.first_ns, known.gone_ns)[kept]
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
    remedy="commit more often; let members that restart keep their partitions (static membership: group.instance.id); "
    "give them a longer session, so that a short absence moves nothing; let no handler take longer than the group "
    "waits for it",
    only_with=Group,
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
    only_with=Group,
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
    """Detects the anomalies of consumer groups; a `Checker` with the power `Spanning`."""

    anomalies = (
        COMMIT_REGRESSION,
        COMMIT_BEYOND,
        PASSED_OVER,
        REPROCESSED,
        DOUBLE_ASSIGNMENT,
        STUCK_PARTITION,
        UNOWNED,
        KEY_OVERTAKEN,
    )
    models = IN_LOGS

    def check(self, part: Part) -> pa.Table:
        """Return the findings of all groups."""
        if not of_kinds(part.observations, ASSIGNED, COMMITTED).num_rows:
            return no_findings()
        view, operations = part.view(LogView), part.operations
        membership = GroupActivity.of(part.observations, operations, view.operations)
        tables = [no_findings()]
        of_groups = [membership.members(group, view.operations) for group in range(len(membership.groups))]
        everybody = np.concatenate([np.zeros(0, np.int64), *of_groups])
        for group, members in enumerate(of_groups):
            commits = membership.commits.take(np.flatnonzero(membership.commits.group == group))
            ownerships = membership.ownerships.take(np.flatnonzero(membership.ownerships.group == group))
            tables += [
                regression_cases(view, commits, seeks_ns(operations, view.operations, members)),
                beyond_cases(view, commits, members),
                passed_over_cases(
                    view, operations, members, everybody, commits_told=bool(membership.commits_told[group])
                ),
                reprocessed_cases(view, members),
                double_cases(view, ownerships),
                unowned_cases(view, operations, ownerships),
            ]
            others = np.concatenate([members[:0], *(group for group in of_groups if group is not members)])
            tables.append(standing_cases(view, operations, ownerships, members, np.setdiff1d(others, members)))
        return merged(tables)

    def extract(self, part: Part) -> pa.Table:
        """Return what each group received of each key, if keys may have moved to other partitions."""
        if not PartitionCount.read(part.observations).size:
            return EXTRACTS.empty_table()
        rows = part.view(LogView).operations
        membership = GroupActivity.of(part.observations, part.operations, rows)
        groups = [(name, membership.members(group, rows)) for group, name in enumerate(membership.groups)]
        return extract_of(part, groups)

    def conclude(self, extracts: pa.Table, operations: pa.Table) -> pa.Table:
        """Return the keys that moved, and were received in another order than they were sent."""
        return moved_cases(extracts)
