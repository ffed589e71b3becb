"""What a log with tiered storage shows: which of its messages its brokers did not have themselves any more."""

from __future__ import annotations

import pyarrow as pa

from chaoskit.base.columns import NONE
from chaoskit.contract.checkers.anomaly import Anomaly
from checkers.arrays.findings import findings_of, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.loss import send_evidence

TIERED = Anomaly(
    "tiered",
    "brokers had deleted an acknowledged message themselves by the end of the final read, as the object store had it",
    IN_LOGS,
    measured=True,
    one_by_one=True,
)


def tiered_cases(view: LogView) -> pa.Table:
    """Find the acknowledged messages before the position from which on the brokers had the log themselves (KIP-405).

    They are counted so that a run in which nothing was in the object store only does not pass for one that tried it.
    Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    bounds = view.setting.bounds
    if bounds is None or bounds.local is None:
        return no_findings()
    rows = view.first_acks[view.first_acks != NONE]
    position = view.sends.position[rows]
    rows = rows[(position != NONE) & (position >= bounds.low) & (position < bounds.local)]
    return findings_of(view.setting, TIERED, details=(), **send_evidence(view, rows))
