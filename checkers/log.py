"""The checker of an append-only log: one topic-partition of Kafka, Pulsar or a stream.

At least 3 million messages a second on one core and less than 200 bytes of memory a message
(`benchmarks/check_log.py` measures both). Memory is bounded by one partition's messages.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.checker import Context
from checkers.copies import duplicate_cases, offset_conflict_cases, redelivered_cases
from checkers.findings import merged, no_findings
from checkers.loss import dropped_cases, failed_visible_cases, lost_cases, truncated_cases, unseen_cases
from checkers.order import reordered_cases, rewound_cases, skipped_cases
from checkers.origin import corrupt_cases, phantom_cases, sends_of, settled, unsettled
from checkers.realtime import late_cases, order_violation_cases
from checkers.sequence import sequence_jump_cases
from checkers.view import LogView

_CASES = {
    "lost": lost_cases,
    "unseen": unseen_cases,
    "late": late_cases,
    "dropped-as-duplicate": dropped_cases,
    "failed-visible": failed_visible_cases,
    "truncated": truncated_cases,
    "duplicate": duplicate_cases,
    "redelivered": redelivered_cases,
    "offset-conflict": offset_conflict_cases,
    "reordered": reordered_cases,
    "order-violation": order_violation_cases,
    "sequence-jump": sequence_jump_cases,
    "skipped": skipped_cases,
    "rewound": rewound_cases,
    "phantom": phantom_cases,
    "corrupt": corrupt_cases,
}


class LogChecker:
    """Decides all log anomalies of one topic-partition; a `Checker` with the power `Settling`."""

    anomalies = (*_CASES, "misrouted")

    def check(self, messages: pa.Table, operations: pa.Table, context: Context) -> pa.Table:
        """Return the findings in the order of `anomalies`, each in order of position, value and op."""
        if not messages.num_rows:
            return no_findings()
        view = LogView(messages, operations, context)
        return merged([cases(view) for cases in _CASES.values()])

    def open_values(self, findings: pa.Table) -> pa.Array:
        """Return the distinct values of phantoms that another partition may have been sent."""
        return pc.unique(findings["value"].filter(unsettled(findings))).sort()

    def sent_here(self, messages: pa.Table, values: pa.Array) -> pa.Table:
        """Return value, topic, partition and op of those of the values that were sent here."""
        return sends_of(messages, values)

    def settle(self, findings: pa.Table, found: pa.Table) -> pa.Table:
        """Return the findings with every open phantom either misrouted or sent by nobody."""
        return settled(findings, found)
