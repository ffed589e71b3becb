"""Outputs of which nobody told the application that they were stored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.workloads.datamodel import OUTPUT
from chaoskit.contract.workloads.traits import Piped
from checkers.arrays.findings import no_findings
from checkers.pipeline.missing import of_inputs
from checkers.pipeline.queue_blame import of_unconfirmed
from checkers.pipeline.queued import CONFIRMED, PUBLISHED
from checkers.pipeline.view import PipelineView

UNCONFIRMED_OUTPUT = Anomaly(
    "unconfirmed-output",
    "the application published outputs of an input, and was told of none that it was stored",
    (OUTPUT,),
    measured=True,
    about=About.READING,
    notable=True,
    remedy="ask for publisher confirms, and acknowledge an input once its outputs are confirmed",
    only_with=Piped,
    of_application=True,
)


def unconfirmed_cases(view: PipelineView) -> pa.Table:
    """Evidence: as of `unprocessed`; at `at_ns` an output was published for the last time."""
    record = view.queue
    if record is None:
        return no_findings()
    published = np.flatnonzero(record.act == PUBLISHED)
    at_ns = np.zeros(view.value.size, np.int64)
    at_ns[record.input[published]] = record.at_ns[published]
    rows = np.setdiff1d(record.input[published], record.input[record.act == CONFIRMED])
    return of_inputs(view, UNCONFIRMED_OUTPUT, rows, at_ns, of_unconfirmed)
