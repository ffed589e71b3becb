"""The checker of an append-only log: one partition of a topic, or a stream.

It processes at least 3 million messages per second on one core and needs less than 200 bytes of memory per
message (`benchmarks/check_log.py` measures both). Memory is bounded by the messages of one partition.
"""

from __future__ import annotations

import pyarrow as pa

from chaoskit.contract.checkers.checker import Part
from checkers.arrays.findings import merged, no_findings
from checkers.arrays.models import LOGS
from checkers.arrays.view import LogView
from checkers.delivery.copies import (
    DUPLICATE,
    OFFSET_CONFLICT,
    REDELIVERED,
    duplicate_cases,
    offset_conflict_cases,
    redelivered_cases,
)
from checkers.delivery.loss import (
    DROPPED,
    EXPIRED,
    FAILED_VISIBLE,
    LOST,
    TRUNCATED,
    UNSEEN,
    dropped_cases,
    expired_cases,
    failed_visible_cases,
    lost_cases,
    truncated_cases,
    unseen_cases,
)
from checkers.delivery.origin import CORRUPT, MISROUTED, PHANTOM, SettlesPhantoms, corrupt_cases, phantom_cases
from checkers.delivery.stuck import STUCK, reader_cases
from checkers.log.compacted import COMPACTED, RESURRECTED, compacted_cases, resurrected_cases
from checkers.log.order import REORDERED, REWOUND, SKIPPED, reordered_cases, rewound_cases, skipped_cases
from checkers.log.realtime import LATE, ORDER_VIOLATION, late_cases, order_violation_cases
from checkers.log.sequence import SEQUENCE_JUMP, sequence_jump_cases
from checkers.log.tiered import TIERED, tiered_cases

_CASES = (
    (LOST, lost_cases),
    (UNSEEN, unseen_cases),
    (EXPIRED, expired_cases),
    (RESURRECTED, resurrected_cases),
    (COMPACTED, compacted_cases),
    (TIERED, tiered_cases),
    (LATE, late_cases),
    (DROPPED, dropped_cases),
    (FAILED_VISIBLE, failed_visible_cases),
    (TRUNCATED, truncated_cases),
    (DUPLICATE, duplicate_cases),
    (REDELIVERED, redelivered_cases),
    (OFFSET_CONFLICT, offset_conflict_cases),
    (REORDERED, reordered_cases),
    (ORDER_VIOLATION, order_violation_cases),
    (SEQUENCE_JUMP, sequence_jump_cases),
    (SKIPPED, skipped_cases),
    (REWOUND, rewound_cases),
    (PHANTOM, phantom_cases),
    (CORRUPT, corrupt_cases),
)

_OF_SAMPLES = (
    lost_cases,
    unseen_cases,
    expired_cases,
    failed_visible_cases,
    truncated_cases,
    duplicate_cases,
    reordered_cases,
    phantom_cases,
    corrupt_cases,
)
"""Those that need no other message than the one that they are about, or its pair."""


class LogChecker(SettlesPhantoms):
    """Detects all log anomalies of one topic partition; a `Checker` with the powers `Settling` and `Sampling`."""

    anomalies = (*(anomaly for anomaly, _ in _CASES), MISROUTED, STUCK)
    models = LOGS

    def check(self, part: Part) -> pa.Table:
        """Return the findings in the order of `anomalies`, and for each in order of position, value and op."""
        if not part.messages.num_rows:
            return no_findings()
        view = part.view(LogView)
        return merged([*(cases(view) for _, cases in _CASES), reader_cases(part)])

    def check_samples(self, part: Part) -> pa.Table:
        """See `Sampling`."""
        view = part.view(LogView)
        return merged([cases(view) for cases in _OF_SAMPLES])
