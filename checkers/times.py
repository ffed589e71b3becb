"""The effect of faults on latency and availability of one partition: measurements without guarantees.

The latency of a send is measured from when it was due (`intended_ns`) to its acknowledgement. Cost: O(n) for n messages
and one sort of the acknowledgements, 24 bytes per message.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.contract.anomaly import Anomaly
from chaoskit.contract.checker import Part
from chaoskit.history.schema import AUDITOR, DIRECTIONS, OUTCOMES
from checkers.columns import NONE, codes, integers, is_one_of
from checkers.ends import OK
from checkers.findings import findings_of, merged, no_findings
from checkers.models import ALL
from checkers.rows import SENT

UNAVAILABLE_NS = 1_000_000_000
"""A partition is unavailable if no send completed for this long although one was due."""

OUTLIER_FACTOR, OUTLIER_NS = 10, 100_000_000
"""A send is an outlier if it took this multiple of the 99th percentile outside faults, and at least this long."""

_UNDISTURBED_MIN = 100
"""Minimum number of sends outside faults for meaningful percentiles."""


class _Sends:
    """The timed sends of a partition: operation numbers, due times, completion times, whether acknowledged."""

    def __init__(self, part: Part) -> None:
        messages, operations = part.messages, part.operations
        self.setting = part.setting
        sent = np.flatnonzero(codes(messages["direction"], DIRECTIONS) == SENT)
        due_ns = integers(messages["intended_ns"])[sent]
        timed = due_ns != NONE
        self.op, self.due_ns = integers(messages["op"])[sent][timed], due_ns[timed]
        row = np.searchsorted(integers(operations["op"]), self.op)
        audits = is_one_of(operations["client"], [AUDITOR])[row]
        self.op, self.due_ns, row = self.op[~audits], self.due_ns[~audits], row[~audits]
        self.end_ns = integers(operations["end_ns"])[row]
        acked = np.flatnonzero(codes(operations["outcome"], OUTCOMES)[row] == OK)
        self.acked = acked[np.argsort(self.end_ns[acked], kind="stable")]


UNAVAILABLE = Anomaly(
    "unavailable", "no send was acknowledged for more than a second although one was due", ALL, measured=True
)


def unavailable_cases(sends: _Sends) -> pa.Table:
    """Find windows in which no send was acknowledged although some were due.

    Evidence: from `at_ns` (the previous acknowledgement, or when the next send was due) to the end of `op`;
    `other_op` was the last one acknowledged before.
    """
    end_ns = sends.end_ns[sends.acked]
    due_ns = np.sort(sends.due_ns)
    following = np.searchsorted(due_ns, end_ns[:-1], side="right")
    first_due_ns = due_ns[np.minimum(following, due_ns.size - 1)]
    begin_ns = np.where(first_due_ns <= end_ns[1:], np.maximum(first_due_ns, end_ns[:-1]), end_ns[1:])
    waits = np.flatnonzero(end_ns[1:] - begin_ns > UNAVAILABLE_NS)
    return findings_of(
        sends.setting,
        UNAVAILABLE,
        value=np.full(waits.size, NONE),
        position=np.full(waits.size, NONE),
        op=sends.op[sends.acked[waits + 1]],
        other_op=sends.op[sends.acked[waits]],
        at_ns=begin_ns[waits],
    )


SLOW_RECOVERY = Anomaly(
    "slow-recovery", "the first acknowledgement after a healing came later than the bound", ALL, measured=True
)


def slow_recovery_cases(sends: _Sends) -> pa.Table:
    """Find faults after whose healing, at `at_ns`, the first acknowledgement took longer than the bound.

    Evidence: `op` was acknowledged first.
    """
    end_ns, bound_ns = sends.end_ns[sends.acked], sends.setting.bound_ns
    faults = [each for each in sends.setting.faults if each.healed_ns is not None]
    healed_ns = np.array([each.healed_ns for each in faults], np.int64)
    following = np.searchsorted(end_ns, healed_ns)
    due = healed_ns <= sends.due_ns.max()
    first = np.minimum(following, end_ns.size - 1)
    slow = np.flatnonzero(due & (following < end_ns.size) & (end_ns[first] - healed_ns > bound_ns))
    return findings_of(
        sends.setting,
        SLOW_RECOVERY,
        details=[f"after {each.kind} (fault {each.number})" for each in faults] or ("",),
        detail=slow,
        value=np.full(slow.size, NONE),
        position=np.full(slow.size, NONE),
        op=sends.op[sends.acked[first[slow]]],
        at_ns=healed_ns[slow],
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
    faults, last_ns = sends.setting.faults, int(end_ns.max())
    inside = [
        np.flatnonzero((due_ns < (last_ns if each.healed_ns is None else each.healed_ns)) & (end_ns >= each.start_ns))
        for each in faults
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
        details=[*(f"under {each.kind} (fault {each.number})" for each in faults), "under no fault"],
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
        if not sends.acked.size:
            return no_findings()
        return merged([unavailable_cases(sends), slow_recovery_cases(sends), outlier_cases(sends)])
