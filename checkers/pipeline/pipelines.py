"""The checker of applications: each input has its outputs, as often as it should, and nothing else is written.

What cannot be told: which instance wrote an output; whether the application was told that an output which nobody reads
was stored. Cost: O(n log n) for n inputs and outputs, and a sentence for each finding.
"""

from __future__ import annotations

import pyarrow as pa

from chaoskit.contract.checkers.checker import Part
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, QUEUE
from checkers.arrays.findings import merged, no_findings
from checkers.delivery.loss import UNSEEN
from checkers.pipeline import missing, written
from checkers.pipeline.extracts import EXTRACTS, extract_of
from checkers.pipeline.unconfirmed import UNCONFIRMED_OUTPUT, unconfirmed_cases
from checkers.pipeline.view import PipelineView

_CASES = (
    (missing.UNPROCESSED, missing.unprocessed_cases),
    (missing.INPUT_DEAD_LETTERED, missing.dead_lettered_cases),
    (missing.HALF_PROCESSED, missing.half_processed_cases),
    (missing.NOT_DRAINED, missing.not_drained_cases),
    (written.PROCESSED_TWICE, written.processed_twice_cases),
    (written.AMBIGUOUS_OUTPUT, written.ambiguous_cases),
    (written.OUT_OF_ORDER, written.out_of_order_cases),
    (written.UNATTRIBUTED, written.unattributed_cases),
    (written.MADE_UP, written.made_up_cases),
    (written.TOO_LATE, written.too_late_cases),
    (UNCONFIRMED_OUTPUT, unconfirmed_cases),
    (UNSEEN, written.unseen_cases),
)


class PipelineChecker:
    """Detects what an application did to its inputs; a `Checker` with the power `Spanning`."""

    anomalies = tuple(anomaly for anomaly, _ in _CASES)
    models = (LOG, QUEUE, OUTPUT)

    def check(self, part: Part) -> pa.Table:
        """Return nothing: an input is in one partition, and its outputs are in others."""
        return no_findings()

    def extract(self, part: Part) -> pa.Table:
        """Return what a partition contributes."""
        return extract_of(part)

    def conclude(self, extracts: pa.Table, operations: pa.Table) -> pa.Table:
        """Return the findings."""
        if not extracts.num_rows:
            return no_findings()
        view = PipelineView(extracts.cast(EXTRACTS), operations)
        return merged([cases(view) for _, cases in _CASES])
