"""Reads and checks runs in this process: for few messages that is done before Spark has started."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from chaoskit.base.errors import ChaoskitError
from chaoskit.judge.findings.checking import find
from chaoskit.judge.timing.metrics import measure
from spark_analysis.outcome import Outcome
from spark_analysis.runs import Run


def survey(runs: Sequence[Run], tell: Callable[[str], None]) -> dict[int, Outcome]:
    """Measure all runs; return the outcomes by number."""
    outcomes = {}
    for done, run in enumerate(runs):
        if done and done % 100 == 0:
            tell(f"{done:,} of {len(runs):,} runs read")
        try:
            counts, waits = measure(run.history, run.timing)
            outcomes[run.number] = Outcome(counts, waits)
        except ChaoskitError as error:
            outcomes[run.number] = Outcome(error=str(error))
    return outcomes


def findings_of(run: Run, outcome: Outcome) -> pa.Table:
    """Return the findings of a run that is to be judged."""
    assert run.subject is not None
    return find(run.history, run.subject.bound_ns, run.timing.load, run.subject.imposed, outcome.guard)
