"""Reads and checks runs in this process: for few messages that is done before Spark has started."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from chaoskit.base.errors import ChaoskitError
from chaoskit.judge.findings.checking import find
from chaoskit.judge.timing.metrics import measure
from spark_analysis.outcome import TaskResults
from spark_analysis.runs import AnalysedRun


def survey(runs: Sequence[AnalysedRun], tell: Callable[[str], None]) -> dict[int, TaskResults]:
    """Measure all runs; return the outcomes by number."""
    outcomes = {}
    for done, run in enumerate(runs):
        if done and done % 100 == 0:
            tell(f"{done:,} of {len(runs):,} runs read")
        try:
            counts, waits = measure(run.history, run.timing)
            outcomes[run.number] = TaskResults(counts, waits)
        except ChaoskitError as error:
            outcomes[run.number] = TaskResults(error=str(error))
    return outcomes


def findings_of(run: AnalysedRun, outcome: TaskResults) -> pa.Table:
    """Return the findings of a run that is to be judged."""
    assert run.subject is not None
    return find(run.history, run.subject.bound_ns, run.timing.load, run.subject.imposed, outcome.guard)
