"""Times in which no member of a group owned a partition: a measurement without a guarantee.

What cannot be measured: a member that does not report its assignments, and gaps shorter than `LEAST_NS`.

Cost: O(n log n) for n assignments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.contract.workloads.traits import Group
from chaoskit.model.operation import CARRYING
from checkers.arrays.columns import NEVER_NS
from checkers.arrays.findings import findings_of
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.membership import Ownerships

LEAST_NS = 10_000_000
"""Shorter times are not told: an owner whose other partitions move reports its own anew."""

UNOWNED = Anomaly(
    "unowned",
    "no member of a group owned the partition, or its owner stood still in a fault: nobody processed it",
    IN_LOGS,
    measured=True,
    about=About.READING,
    shared=True,
    lasting=True,
    remedy="let members that restart keep their partitions (static membership: group.instance.id); let a rebalance "
    "take only the partitions that move (a cooperative assignor, or group.protocol: consumer); a shorter session "
    "misses a member that ended sooner",
    needs=("assigned",),
    only_with=Group,
)

_BEGAN = ("its owner gave it up", "its owner ended", "its owner stood still")
_ENDED = ("until it was owned again", "until the end of the load")
DETAILS = tuple(f"{began}, {ended}" for began in _BEGAN for ended in _ENDED)
_GAVE_UP, _GONE, _STILL = range(len(_BEGAN))


@dataclass(frozen=True, slots=True)
class _Stay:
    """A time in which a member worked on the partition: since when and until when, how that ended (index in `_BEGAN`),
    and the operation that had assigned it."""

    from_ns: int
    until_ns: int
    ending: int
    operation: int


@dataclass(frozen=True, slots=True)
class _Gap:
    """A time between two stays; `after` is None if the load ended first."""

    before: _Stay
    after: _Stay | None
    from_ns: int
    until_ns: int

    @property
    def detail(self) -> int:
        """Index in `DETAILS`."""
        return 2 * self.before.ending + (self.after is None)

    @property
    def taken_over(self) -> int:
        """The operation that assigned the partition again; `NONE` if none did."""
        return NONE if self.after is None or self.after.operation == self.before.operation else self.after.operation


def unowned_cases(view: LogView, operations: pa.Table, ownerships: Ownerships) -> pa.Table:
    """Find times of the load, after the first assignment, in which no member of a group worked on the partition.

    Evidence: from `since_ns` to `at_ns`; `other_op` had assigned it to its owner before, and `op` assigned it to the
    next one, unless the load ended, or the same owner went on.

    Args:
        view: the partition.
        operations: schema `OPERATIONS`.
        ownerships: those of the group.
    """
    gaps = _gaps(view, sorted(_stays(view, operations, ownerships), key=lambda stay: stay.from_ns))
    op = np.append(view.operations.op, NONE)
    return findings_of(
        view.setting,
        UNOWNED,
        details=DETAILS,
        detail=np.array([gap.detail for gap in gaps], np.int64),
        value=np.full(len(gaps), NONE),
        position=np.full(len(gaps), NONE),
        op=op[np.array([gap.taken_over for gap in gaps], np.int64)],
        other_op=op[np.array([gap.before.operation for gap in gaps], np.int64)],
        since_ns=np.array([gap.from_ns for gap in gaps], np.int64),
        at_ns=np.array([gap.until_ns for gap in gaps], np.int64),
    )


def _gaps(view: LogView, stays: Sequence[_Stay]) -> list[_Gap]:
    """Return the gaps between stays, and between the last one and the end of the load if that is known. A stay that
    ended as it began, of a member of which nothing more is known, only counts if it is the first."""
    if not stays:
        return []
    setting, last, gaps = view.setting, stays[0], []
    end_ns = NEVER_NS if setting.load_end_ns is None else setting.load_end_ns
    for stay in (*(stay for stay in stays[1:] if stay.from_ns < min(stay.until_ns, end_ns)), None):
        until_ns = end_ns if stay is None else stay.from_ns
        if until_ns != NEVER_NS:
            gaps.append(_Gap(last, stay, max(last.until_ns, setting.load_start_ns), until_ns))
        if stay is not None and stay.until_ns > last.until_ns:
            last = stay
    return [gap for gap in gaps if gap.until_ns - gap.from_ns >= LEAST_NS]


def _stays(view: LogView, operations: pa.Table, ownerships: Ownerships) -> list[_Stay]:
    """Return when members worked on the partition: without the times in which a fault held their clients. What an owner
    only reports anew is still its own."""
    lives, stays = _Lives(view, operations), []
    start_ns, process = (column[ownerships.operation] for column in (view.operations.start_ns, view.operations.process))
    anew = dict(zip(zip(process.tolist(), start_ns.tolist(), strict=True), ownerships.from_ns.tolist(), strict=True))
    for row in np.flatnonzero(ownerships.from_ns != NONE).tolist():
        columns = ownerships.operation, ownerships.from_ns, ownerships.until_ns
        operation, from_ns, given_up_ns = (int(column[row]) for column in columns)
        number = int(process[row])
        faults = [
            fault
            for fault in view.setting.faults
            if not fault.on_hosts and fault.effective_ns is not None and lives.client[number] in fault.targets
        ]
        until_ns = max(given_up_ns, anew.get((number, given_up_ns), NONE))
        stay = _Stay(from_ns, until_ns, _GAVE_UP, operation)
        if given_up_ns == NONE:
            given_up_ns = max(from_ns, lives.ended_ns(number, faults))
            stay = replace(stay, until_ns=given_up_ns, ending=_GONE)
        stays += _without(stay, given_up_ns, [fault for fault in faults if fault.holds])
    return stays


def _without(stay: _Stay, given_up_ns: int, faults: Sequence[FaultWindow]) -> list[_Stay]:
    """Return what is left of a stay without the times in which faults held its client, unless it gave the partition up
    before they were undone: a client that is held does not."""
    left = []
    for fault in sorted(faults, key=lambda fault: fault.start_ns):
        undone_ns, healed_ns = (NEVER_NS if ns is None else ns for ns in (fault.undone_ns, fault.healed_ns))
        # A client that is told to hang may still be assigned the partition before it does.
        begun = fault.effective_ns is not None and stay.from_ns <= fault.effective_ns
        if begun and fault.start_ns < given_up_ns and given_up_ns >= min(undone_ns, healed_ns):
            left.append(replace(stay, until_ns=max(stay.from_ns, fault.start_ns), ending=_STILL))
            stay = replace(stay, from_ns=healed_ns)
    return left if left and stay.from_ns >= stay.until_ns else [*left, stay]


class _Lives:
    """How long the processes of the group's members lived, of what is recorded of this partition.

    Attributes:
        client: the client of each process, without its incarnation.
    """

    def __init__(self, view: LogView, operations: pa.Table) -> None:
        rows = view.operations
        process, first = np.unique(rows.process, return_index=True)
        names = operations["client"].take(pa.array(first)).to_pylist()
        self.client = {number: name.partition("#")[0] for number, name in zip(process.tolist(), names, strict=True)}
        self._began_ns = dict(zip(process.tolist(), rows.start_ns[first].tolist(), strict=True))
        # Of polls only those of this partition are always there, so that all who judge it see the same.
        counted = ~is_one_of(operations["f"], CARRYING)
        counted[view.receives.operation] = True
        self._last_ns = np.zeros(int(process.max(initial=0)) + 1, np.int64)
        np.maximum.at(self._last_ns, rows.process[counted], np.maximum(rows.start_ns, rows.end_ns)[counted])

    def ended_ns(self, process: int, faults: Sequence[FaultWindow]) -> int:
        """Return when a process ended of which nobody recorded it: with its last operation, or later by a fault of its
        client, which may have begun before that operation ended, but not after the client's next process had begun."""
        last_ns = int(self._last_ns[process])
        following_ns = min(
            (
                began_ns
                for other, began_ns in self._began_ns.items()
                if self.client[other] == self.client[process] and began_ns > self._began_ns[process]
            ),
            default=NEVER_NS,
        )
        ended = (
            fault.start_ns
            for fault in faults
            if (fault.healed_ns is None or fault.healed_ns >= last_ns) and fault.start_ns < following_ns
        )
        return max(last_ns, min(ended, default=last_ns))
