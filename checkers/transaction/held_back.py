"""The checker of transactions that stay open: those who read committed messages only wait for their end.

They are seen by looks at the system, about once a second, if it tells of them. What cannot be measured: a transaction
that is open for less than two looks.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import Part
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT
from checkers.arrays.findings import coded, findings_of, no_findings
from checkers.delivery.open_transactions import stays

MODELS = (LOG, OUTPUT)

HELD_BACK = Anomaly(
    "held-back",
    "a transaction stayed open: who reads committed messages only received nothing behind its first one",
    MODELS,
    measured=True,
    about=About.READING,
    shared=True,
    lasting=True,
    remedy="let the system end transactions of producers that are gone sooner (a shorter transaction timeout)",
)

LEAST_NS = 2_000_000_000
"""Shorter times are not told: transactions are open for a while as a matter of course."""


class HeldBackChecker:
    """Measures for how long transactions stayed open; a `Checker`."""

    anomalies = (HELD_BACK,)
    models = MODELS

    def check(self, part: Part) -> pa.Table:
        """Return the findings in order of position.

        Evidence: `position` is the first message of the transaction, which was open from `since_ns` to `at_ns`, when
        `op` saw it for the last time.
        """
        long = [stay for stay in stays(part) if stay.until_ns - stay.since_ns >= LEAST_NS]
        if not long:
            return no_findings()
        details, detail = coded([f"by a transaction of {stay.name}" for stay in long])
        return findings_of(
            part.setting,
            HELD_BACK,
            details=details,
            detail=detail,
            value=np.full(len(long), NONE),
            position=np.array([stay.position for stay in long], np.int64),
            op=np.array([stay.op for stay in long], np.int64),
            since_ns=np.array([stay.since_ns for stay in long], np.int64),
            at_ns=np.array([stay.until_ns for stay in long], np.int64),
        )
