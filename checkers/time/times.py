"""The effect of faults on latency and availability of one partition: measurements without guarantees.

The latency of a send is measured from when it was due (`intended_ns`) to its acknowledgement. Cost: O(n) for n messages
and sorts of when they were due, completed and acknowledged; 40 bytes per message.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, codes, integers, is_one_of
from chaoskit.base.waits import Wait, waits
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.checkers.checker import Part
from chaoskit.model.message import DIRECTIONS
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OUTCOMES
from checkers.arrays.ends import OK
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import ALL
from checkers.arrays.rows import SENT

UNAVAILABLE_NS = 1_000_000_000
"""A partition is unavailable if no send completed for this long although one was due."""

OUTLIER_FACTOR, OUTLIER_NS = 10, 100_000_000
"""A send is an outlier if it took this multiple of the 99th percentile outside faults, and at least this long."""

_UNDISTURBED_MIN = 100
"""Minimum number of sends outside faults for meaningful percentiles."""


class _Sends:
    """The timed sends of the load to a partition: operation numbers, due times, completion times, whether acknowledged.

    A send of which nothing more is known was given up at the end of the load; of a ledger, which may have ended before,
    at once. If the load's end is not known, it is when the last send was due. If nothing more was sent though due, one
    more send is waited for, but not in a ledger.
    """

    def __init__(self, part: Part) -> None:
        messages, operations = part.messages, part.operations
        self.setting = part.setting
        sent = np.flatnonzero(codes(messages["direction"], DIRECTIONS) == SENT)
        due_ns = integers(messages["intended_ns"])[sent]
        timed = (due_ns != NONE) & (due_ns >= part.setting.load_start_ns)
        self.op, self.due_ns = integers(messages["op"])[sent][timed], due_ns[timed]
        row = np.searchsorted(integers(operations["op"]), self.op)
        audits = is_one_of(operations["client"], [AUDITOR])[row]
        self.op, self.due_ns, row = self.op[~audits], self.due_ns[~audits], row[~audits]
        known_ns = part.setting.load_end_ns
        load_end_ns = int(self.due_ns.max(initial=0)) if known_ns is None else known_ns
        end_ns = integers(operations["end_ns"])[row]
        lasts = part.setting.model.lasts
        given_up_ns = np.maximum(self.due_ns, load_end_ns) if lasts else self.due_ns
        self.end_ns = np.maximum(np.where(end_ns == NONE, given_up_ns, end_ns), self.due_ns)
        is_acked = codes(operations["outcome"], OUTCOMES)[row] == OK
        acked, self.open = np.flatnonzero(is_acked), np.flatnonzero(~is_acked)
        self.acked = acked[np.argsort(self.end_ns[acked], kind="stable")]
        until_ns = int(self.end_ns[self.open].max(initial=0))
        due_ns, done_ns = self.due_ns, self.end_ns
        if part.setting.stuck_ns is not None and lasts:
            until_ns = max(until_ns, load_end_ns)
            due_ns, done_ns = np.append(due_ns, part.setting.stuck_ns), np.append(done_ns, load_end_ns)
        self.waits = waits(due_ns, done_ns, self.end_ns[self.acked], until_ns, load_end_ns)

    def ended_by(self, wait: Wait) -> int:
        """Return the operation whose acknowledgement ended a wait; if there was none, the first send that had none;
        `NONE` if it was never made."""
        if wait.answered:
            return int(self.op[self.acked[np.searchsorted(self.end_ns[self.acked], wait.end_ns)]])
        rows = self.open[self.end_ns[self.open] >= wait.begin_ns]
        return int(self.op[rows[np.argmin(self.due_ns[rows])]]) if rows.size else NONE


UNAVAILABLE = Anomaly(
    "unavailable", "no send was acknowledged for more than a second although one was due", ALL, measured=True
)


def unavailable_cases(sends: _Sends) -> pa.Table:
    """Find windows in which no send was acknowledged although some were due.

    Evidence: from `at_ns` (the previous acknowledgement, or when the next send was due) to the end of `op`;
    `other_op` was the last one acknowledged before. If none followed, `op` is the first send that had to wait, unless
    that was never made.
    """
    waits = [wait for wait in sends.waits.lasting(UNAVAILABLE_NS) if wait.lasted_ns > UNAVAILABLE_NS]
    begin_ns = np.array([wait.begin_ns for wait in waits], np.int64)
    answered = np.array([wait.answered for wait in waits], np.bool_)
    before = np.searchsorted(sends.end_ns[sends.acked], begin_ns, side="right") - 1
    return findings_of(
        sends.setting,
        UNAVAILABLE,
        details=("until the next acknowledgement", "there was no further acknowledgement"),
        detail=np.where(answered, 0, 1),
        value=np.full(begin_ns.size, NONE),
        position=np.full(begin_ns.size, NONE),
        op=np.array([sends.ended_by(wait) for wait in waits], np.int64),
        other_op=np.append(sends.op[sends.acked], NONE)[before],
        at_ns=begin_ns,
    )


SLOW_RECOVERY = Anomaly(
    "slow-recovery", "the first acknowledgement after a healing came later than the bound, or never", ALL, measured=True
)


def slow_recovery_cases(sends: _Sends) -> pa.Table:
    """Find faults after whose healing, at `at_ns`, the first acknowledgement of a send that was open or due took longer
    than the bound, or there was none. A ledger that has none was abandoned, and is left out.

    Evidence: `op` was acknowledged first; if none was, it is the first send that was not, unless that was never made.
    """
    faults = sends.setting.faults
    cases: list[tuple[int, int, int]] = []
    for index, fault in enumerate(faults):
        if fault.healed_ns is None:
            continue
        later = [other.start_ns for other in faults if other.start_ns > fault.healed_ns]
        wait = sends.waits.after(fault.healed_ns, min([*later, fault.healed_ns + sends.setting.bound_ns]))
        if wait is None or (not sends.setting.model.lasts and not wait.answered):
            continue
        if not wait.answered or wait.lasted_ns > sends.setting.bound_ns:
            cases.append((2 * index + (not wait.answered), sends.ended_by(wait), fault.healed_ns))
    detail, op, healed_ns = np.array(cases, np.int64).reshape(-1, 3).T
    how = ("", ": no acknowledgement")
    return findings_of(
        sends.setting,
        SLOW_RECOVERY,
        details=[f"after {fault.kind} (fault {fault.number}){ending}" for fault in faults for ending in how] or ("",),
        detail=detail,
        value=np.full(op.size, NONE),
        position=np.full(op.size, NONE),
        op=op,
        at_ns=healed_ns,
    )


LATENCY_OUTLIER = Anomaly(
    "latency-outlier", "a send took ten times as long as sends outside faults", ALL, measured=True
)


def outlier_cases(sends: _Sends) -> pa.Table:
    """Find the slowest send of each fault, and outside all faults, if it is an outlier.

    Evidence: `op` was acknowledged at `at_ns`.
    """
    due_ns, end_ns = sends.due_ns[sends.acked], sends.end_ns[sends.acked]
    took_ns = end_ns - due_ns
    faults, last_ns = sends.setting.faults, int(end_ns.max(initial=0))
    inside = [
        np.flatnonzero(
            (due_ns < (last_ns if fault.healed_ns is None else fault.healed_ns)) & (end_ns >= fault.start_ns)
        )
        for fault in faults
    ]
    disturbed = np.zeros(due_ns.size, np.bool_)
    for rows in inside:
        disturbed[rows] = True
    quiet = np.flatnonzero(~disturbed)
    if quiet.size < _UNDISTURBED_MIN:
        return no_findings()
    limit_ns = max(OUTLIER_NS, OUTLIER_FACTOR * int(np.percentile(took_ns[quiet], 99)))
    slowest = np.array([rows[np.argmax(took_ns[rows])] if rows.size else NONE for rows in (*inside, quiet)])
    standing_out = np.flatnonzero((slowest != NONE) & (took_ns[slowest] > limit_ns))
    row = slowest[standing_out]
    return findings_of(
        sends.setting,
        LATENCY_OUTLIER,
        details=[*(f"under {fault.kind} (fault {fault.number})" for fault in faults), "under no fault"],
        detail=standing_out,
        value=np.full(row.size, NONE),
        position=np.full(row.size, NONE),
        op=sends.op[sends.acked[row]],
        at_ns=end_ns[row],
    )


class TimeChecker:
    """Measures unavailability, recovery and outliers; a `Checker`."""

    anomalies = (UNAVAILABLE, SLOW_RECOVERY, LATENCY_OUTLIER)
    models = ALL

    def check(self, part: Part) -> pa.Table:
        """Return findings for windows, faults and sends that stand out."""
        sends = _Sends(part)
        if not sends.op.size:
            return no_findings()
        return merged([unavailable_cases(sends), slow_recovery_cases(sends), outlier_cases(sends)])
