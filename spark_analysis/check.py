"""The distributed check: partitions are checked in tasks, then combined and judged on the driver.

The findings are the same as in process (`chaoskit.judge.checking.find`), because the same functions are used.
Nothing is written before all tasks of all runs have finished; then each run's findings and verdict replace the
old ones. A job that is killed leaves all runs unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from chaoskit.base.errors import BadInput
from chaoskit.contract.checker import FINDINGS, Settling
from chaoskit.contract.installed import checkers
from chaoskit.history.reading.reader import History, group_sizes, read_operations
from chaoskit.judge import judging
from chaoskit.judge.checking import Checked, concluding, settle_and_conclude
from chaoskit.judge.counting import WAITS
from chaoskit.judge.counts import COUNTS, summed
from chaoskit.judge.metrics import figures
from chaoskit.judge.missing import require_messages
from chaoskit.judge.verdict import Verdict
from spark_analysis.runs import Run
from spark_analysis.session import run_tasks, task_rows
from spark_analysis.task import ask, unpacked, work
from spark_analysis.units import Task, into_tasks


@dataclass
class Outcome:
    """The results of all tasks for one run.

    Attributes:
        counts: merged COUNTS.
        waits: WAITS.
        checked: for each partition, the findings of each checker.
        error: why the run could not be read.
    """

    counts: pa.Table = field(default_factory=COUNTS.empty_table)
    waits: pa.Table = field(default_factory=WAITS.empty_table)
    checked: list[list[Checked]] = field(default_factory=list)
    error: str | None = None


def survey(
    spark: SparkSession, runs: Sequence[Run], tell: Callable[[str], None] = lambda _: None
) -> dict[int, Outcome]:
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


def findings_of(spark: SparkSession, run: Run, outcome: Outcome) -> pa.Table:
    """Return the findings of a run, like `chaoskit.judge.checking.find`, from those of its partitions."""

    def sent(checker: Settling, values: pa.Array) -> list[pa.Table]:
        index = checkers().index(cast("Any", checker))
        tasks = into_tasks(unit for unit in run.units() if unit.partition is not None)
        rows = run_tasks(spark, tasks, partial(_ask, checker=index, values=values))
        return [unpacked(content) for content in rows.sort_by("place")["content"].to_pylist()]

    def operations() -> pa.Table:
        return concluding(History.open(run.folder).operations, run.settings or ())

    return settle_and_conclude(outcome.checked, sent, operations)


def judge(run: Run, outcome: Outcome, findings: pa.Table) -> Verdict:
    """Judge a run by its findings; write the findings and verdict.json, like `chaoskit check`."""
    assert run.subject is not None
    load = figures(outcome.counts, outcome.waits, run.timing, run.folder / "latency")
    return judging.judge(run.folder, run.subject, LeanHistory.open(run.folder), findings, load)


def why_unjudged(run: Run, outcome: Outcome) -> str | None:
    """Return why a run that was read cannot be judged; None if it can be."""
    if outcome.error is not None or run.subject is None or run.subject.imported:
        return outcome.error
    try:
        require_messages(run.history, outcome.counts)
    except BadInput as error:
        return str(error)
    return None


def check(spark: SparkSession, run: Run) -> Verdict:
    """Check one run, judge it and write its findings and verdict."""
    outcome = survey(spark, [run])[run.number]
    if (why := why_unjudged(run, outcome)) is not None:
        raise BadInput(why)
    return judge(run, outcome, findings_of(spark, run, outcome))


class LeanHistory(History):
    """A history that reads operations a few at a time, and all of them only where an explanation needs them."""

    @cached_property
    def operations(self) -> Any:
        """All operations, as of `History`."""
        return _Slices(self.folder / "operations.parquet", History.open(self.folder))


class _Slices:
    """The operations of a history: slices of one row group at a time, and columns of all of them."""

    def __init__(self, path: Path, history: History) -> None:
        self._path = path
        self._history = history
        self._first = np.cumsum([0, *group_sizes(path)])
        self._read: tuple[int, pa.Table] | None = None

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self._history.operations[name]

    def select(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows."""
        return self._history.operations.select(names)

    def slice(self, first: int, rows: int) -> pa.Table:
        """Return `rows` rows from `first` on, all in one row group."""
        group = int(np.searchsorted(self._first, first, side="right")) - 1
        if self._read is None or self._read[0] != group:
            self._read = group, read_operations(self._path, [group])
        return self._read[1].slice(first - int(self._first[group]), rows)


def _ask(task: Task, checker: int, values: pa.Array) -> Iterator[pa.RecordBatch]:
    return ask(task.units, checker, values)


def _outcome(rows: pa.Table) -> Outcome:
    kinds = rows["kind"]
    errors = rows.filter(pc.equal(kinds, "error"))
    if errors.num_rows:
        return Outcome(error=errors["content"][0].as_py().decode())
    waits = pa.concat_tables([WAITS.empty_table(), *_contents(rows, "waits")])
    return Outcome(summed(_contents(rows, "counts")), waits, _checked(rows))


def _checked(rows: pa.Table) -> list[list[Checked]]:
    """Return, for each partition in order, the findings of each checker."""
    found = rows.filter(pc.is_in(rows["kind"], value_set=pa.array(["findings", "extract"])))
    tables: dict[tuple[str, int, str], list[pa.Table]] = {}
    for row in found.to_pylist():
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


def _contents(rows: pa.Table, kind: str) -> list[pa.Table]:
    return [unpacked(content) for content in rows.filter(pc.equal(rows["kind"], kind))["content"].to_pylist()]
