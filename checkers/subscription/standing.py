"""Groups that stand still: `stuck-partition`.

Judged is each time without a fault that can have caused it, from the healing of the one before: it must be longer than
the bound, and a message must have waited for as long. An owner that was told to pause wants nothing.

Cost: O(n) for n messages, and for each owner that received nothing for so long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FaultWindow
from checkers.arrays.columns import NEVER_NS
from checkers.arrays.findings import findings_of, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.hindrances import Span, calm, concerned, hindering
from checkers.delivery.membership import Delivered, Ownerships, delivered, deliveries_ns, pauses_ns

STUCK_PARTITION = Anomaly(
    "stuck-partition",
    "an owner, or the whole group, received nothing for the whole bound after healing, although messages existed",
    IN_LOGS,
    about=About.READING,
    shared=True,
)

STUCK_DETAILS = ("its owner received nothing", "no member received anything")


def standing_cases(
    view: LogView, operations: pa.Table, ownerships: Ownerships, members: Ints, others: Ints
) -> pa.Table:
    """Find owners that received nothing for too long; if there are none, a group of which no member did.

    Args:
        view: the partition.
        operations: schema `OPERATIONS`.
        ownerships: those of the group.
        members: processes that owned the partition, or committed.
        others: those of other groups.
    """
    # Who holds other partitions of the group keeps it waiting, too, while it takes no part in a rebalance.
    subscribed = np.setdiff1d(view.operations.process[is_one_of(operations["f"], ["subscribe"])], others)
    may_hinder = np.concatenate([members, subscribed]).tolist()
    faults = hindering(view.setting, concerned(operations, view, may_hinder))
    stuck = stuck_cases(view, operations, ownerships, members, faults)
    return stuck if stuck.num_rows else abandoned_cases(view, operations, ownerships, others, faults)


def stuck_cases(
    view: LogView, operations: pa.Table, ownerships: Ownerships, members: Ints, faults: Sequence[FaultWindow]
) -> pa.Table:
    """Find owners that received nothing for the whole bound, although messages existed and they were not paused.

    Evidence: `op` assigned the partition; `other_op` had sent `value`, which no member of the group had received
    when the bound ended, at `at_ns`.
    """
    setting = view.setting
    pauses = pauses_ns(operations, view.operations, members)
    quiet = [
        (row, gap)
        for row in np.flatnonzero(ownerships.until_ns - ownerships.from_ns > setting.bound_ns)
        for gap in _gaps(view, ownerships, int(row), faults, pauses)
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


def abandoned_cases(
    view: LogView, operations: pa.Table, ownerships: Ownerships, others: Ints, faults: Sequence[FaultWindow]
) -> pa.Table:
    """Find a group of which no member received anything any more, for the whole bound until the last member left,
    although later messages existed: the partition may have had no owner. Only if a member owned it once. Subscribers
    that are members of other groups do not count.

    Evidence: `op` is the `subscribe` of that member; `other_op` had sent `value`, which no member had received when the
    bound ended, at `at_ns`.
    """
    rows, setting = view.operations, view.setting
    joined = np.flatnonzero(is_one_of(operations["f"], ["subscribe"]) & ~np.isin(rows.process, others))
    left = np.flatnonzero(is_one_of(operations["f"], ["close"]) & np.isin(rows.process, rows.process[joined]))
    if not (left.size and np.isin(rows.process[ownerships.operation], rows.process[joined]).any()):
        return no_findings()
    last = left[np.argmax(rows.start_ns[left])]
    join = joined[rows.process[joined] == rows.process[last]][-1]
    members = rows.process[joined]
    own = np.isin(rows.process[view.receives.operation], members)
    went_on_ns = pauses_ns(operations, rows, members)[:, 2].max(initial=0)
    received_ns = view.receives.received_ns[own].max(initial=0)
    from_ns = max(int(rows.end_ns[join]), int(received_ns), int(went_on_ns))
    for since_ns, until_ns in _long(calm(faults, from_ns, int(rows.start_ns[last]), 0), setting.bound_ns):
        known = delivered(view, members)
        received = known.position[known.first_ns < NEVER_NS]
        waiting = np.flatnonzero((known.send != NONE) & (known.position > received.max(initial=NONE)))
        waiting = waiting[view.acked[known.send[waiting]]]
        acked_ns = rows.end_ns[view.sends.operation[known.send[waiting]]]
        early = np.flatnonzero(acked_ns <= until_ns - setting.bound_ns)[:1]
        if early.size:
            ends = np.maximum(since_ns, acked_ns[early]) + setting.bound_ns
            return _stuck(view, 1, known, waiting[early], np.array([join]), ends)
    return no_findings()


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


def _gaps(view: LogView, ownerships: Ownerships, row: int, faults: Sequence[FaultWindow], pauses: Ints) -> list[Span]:
    """Return the intervals, longer than the bound, in which an owner received nothing and no fault held."""
    bound_ns = view.setting.bound_ns
    process = int(view.operations.process[ownerships.operation[row]])
    own = pauses[pauses[:, 0] == process, 1:]
    times = np.unique(np.concatenate([deliveries_ns(view, process), own.ravel()]))
    gaps: list[Span] = []
    for from_ns, until_ns in calm(faults, int(ownerships.from_ns[row]), int(ownerships.until_ns[row]), 0):
        inside = times[(times > from_ns) & (times < until_ns)]
        course = np.concatenate([[from_ns], inside, [until_ns]])
        long = np.flatnonzero(np.diff(course) > bound_ns)
        gaps += zip(course[long].tolist(), course[long + 1].tolist(), strict=True)
    return [(a, b) for a, b in gaps if not ((own[:, 0] <= a) & (a < own[:, 1])).any()]


def _long(spans: Sequence[Span], bound_ns: int) -> list[Span]:
    return [(from_ns, until_ns) for from_ns, until_ns in spans if until_ns - from_ns > bound_ns]
