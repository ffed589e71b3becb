"""Judges a run by what was read of it, whether Spark's workers or this process read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.errors import BadInput
from chaoskit.history.reading.reader import History, group_sizes, read_operations
from chaoskit.judge.findings.checking import Checked
from chaoskit.judge.findings.guard import Guard
from chaoskit.judge.timing.counting import WAITS
from chaoskit.judge.timing.counts import COUNTS
from chaoskit.judge.timing.metrics import figures
from chaoskit.judge.verdict import judging
from chaoskit.judge.verdict.missing import require_messages
from chaoskit.judge.verdict.verdict import Verdict
from spark_analysis.runs import AnalysedRun


@dataclass
class TaskResults:
    """The results of all tasks for one run.

    Attributes:
        counts: merged COUNTS.
        waits: WAITS.
        checked: for each partition, the findings of each checker.
        error: why the run could not be read.
        guard: what checkers raised.
    """

    counts: pa.Table = field(default_factory=COUNTS.empty_table)
    waits: pa.Table = field(default_factory=WAITS.empty_table)
    checked: list[list[Checked]] = field(default_factory=list)
    error: str | None = None
    guard: Guard = field(default_factory=Guard)


def judge(run: AnalysedRun, outcome: TaskResults, findings: pa.Table) -> Verdict:
    """Judge a run by its findings; write the findings and verdict.json, like `chaoskit check`."""
    assert run.subject is not None
    load = figures(outcome.counts, outcome.waits, run.timing, run.folder / "latency")
    return judging.judge(run.folder, run.subject, LeanHistory.open(run.folder), findings, load, outcome.guard)


def why_unjudged(run: AnalysedRun, outcome: TaskResults) -> str | None:
    """Return why a run that was read cannot be judged; None if it can be."""
    if outcome.error is not None or run.subject is None or run.subject.imported:
        return outcome.error
    try:
        require_messages(run.history, outcome.counts)
    except BadInput as error:
        return str(error)
    return None


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
