"""The distributed check: partitions are checked in tasks, then combined and judged on the driver.

The findings are the same as in process (`chaoskit.judge.findings.checking.find`), because the same functions are used.
Nothing is written before all tasks of all runs have finished; then each run's findings and verdict replace the
old ones. A job that is killed leaves all runs unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from chaoskit.base.errors import BadInput
from chaoskit.contract.checkers.checker import FINDINGS, Settling
from chaoskit.contract.installed import checkers
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.checking import Checked, concluding, settle_and_conclude
from chaoskit.judge.findings.guard import Guard, Raised
from chaoskit.judge.timing.counting import WAITS
from chaoskit.judge.timing.counts import summed
from chaoskit.judge.verdict.verdict import Verdict
from spark_analysis.outcome import TaskResults, judge, why_unjudged
from spark_analysis.runs import AnalysedRun
from spark_analysis.session import run_tasks, task_rows
from spark_analysis.task import ask, unpacked, work
from spark_analysis.units import SparkTask, into_tasks


def survey(
    spark: SparkSession, runs: Sequence[AnalysedRun], tell: Callable[[str], None] = lambda _: None
) -> dict[int, TaskResults]:
    """Measure all runs, and check those to be judged; return the outcomes by number."""
    units = [unit for run in runs for unit in run.units()]
    tasks = into_tasks(units, task_rows(spark, sum(unit.rows for unit in units)))
    rows = run_tasks(spark, tasks, work, tell)
    order = pc.sort_indices(rows, [("run", "ascending"), ("place", "ascending")])
    rows = rows.take(order)  # stable: pieces of one table stay in their order
    number = rows["run"].to_numpy()
    outcomes = {}
    for run in runs:
        first, last = np.searchsorted(number, [run.number, run.number + 1])
        outcomes[run.number] = _outcome(rows.slice(first, last - first))
    return outcomes


def findings_of(spark: SparkSession, run: AnalysedRun, outcome: TaskResults) -> pa.Table:
    """Return the findings of a run, like `chaoskit.judge.findings.checking.find`, from those of its partitions."""

    def sent(checker: Settling, values: pa.Array) -> list[pa.Table]:
        index = checkers().index(cast("Any", checker))
        tasks = into_tasks(unit for unit in run.units() if unit.partition is not None)
        rows = run_tasks(spark, tasks, partial(_ask, checker=index, values=values))
        return [unpacked(content) for content in rows.sort_by("place")["content"].to_pylist()]

    def operations() -> pa.Table:
        return concluding(History.open(run.folder).operations, run.settings or ())

    return settle_and_conclude(outcome.checked, sent, operations, outcome.guard)


def check(spark: SparkSession, run: AnalysedRun) -> Verdict:
    """Check one run, judge it and write its findings and verdict."""
    outcome = survey(spark, [run])[run.number]
    if (why := why_unjudged(run, outcome)) is not None:
        raise BadInput(why)
    return judge(run, outcome, findings_of(spark, run, outcome))


def _ask(task: SparkTask, checker: int, values: pa.Array) -> Iterator[pa.RecordBatch]:
    return ask(task.units, checker, values)


def _outcome(rows: pa.Table) -> TaskResults:
    kinds = rows["kind"]
    errors = rows.filter(pc.equal(kinds, "error"))
    if errors.num_rows:
        return TaskResults(error=errors["content"][0].as_py().decode())
    waits = pa.concat_tables([WAITS.empty_table(), *_contents(rows, "waits")])
    return TaskResults(summed(_contents(rows, "counts")), waits, _checked(rows), guard=Guard(_raised(rows)))


def _checked(rows: pa.Table) -> list[list[Checked]]:
    """Return, for each partition in order, the findings of each checker."""
    findings = rows.filter(pc.is_in(rows["kind"], value_set=pa.array(["findings", "extract"])))
    tables: dict[tuple[str, int, str], list[pa.Table]] = {}
    for row in findings.to_pylist():
        tables.setdefault((row["place"], row["checker"], row["kind"]), []).append(unpacked(row["content"]))
    joined = {key: pa.concat_tables(pieces) for key, pieces in tables.items()}
    places = sorted({place for place, _, _ in joined})
    count = len(checkers())
    return [
        [
            Checked(
                joined.get((place, index, "findings"), FINDINGS.empty_table()), joined.get((place, index, "extract"))
            )
            for index in range(count)
        ]
        for place in places
    ]


def _raised(rows: pa.Table) -> list[Raised]:
    contents = rows.filter(pc.equal(rows["kind"], "raised"))["content"].to_pylist()
    return [Raised(**{**row, "anomalies": tuple(row["anomalies"])}) for row in map(json.loads, contents)]


def _contents(rows: pa.Table, kind: str) -> list[pa.Table]:
    return [unpacked(content) for content in rows.filter(pc.equal(rows["kind"], kind))["content"].to_pylist()]
