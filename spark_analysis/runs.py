"""The runs of an analysis, as known before Spark reads their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.contract.checkers.checker import PartitionSetting
from chaoskit.history.compacting.finish import finish
from chaoskit.history.compacting.manifest import RECORDED, verify
from chaoskit.history.digesting.live import require_history
from chaoskit.history.reading.reader import History, group_sizes
from chaoskit.judge.findings.checking import settings
from chaoskit.judge.subject.subject import DeclaredSettings, Subject, read_subject
from chaoskit.judge.timing.models import model_of
from chaoskit.judge.timing.timing import Timing, faults_of, load_of
from chaoskit.judge.verdict.verdict_file import read_findings, read_verdict
from spark_analysis.units import Unit
from spark_analysis.windows import ImpactWindow, windows_of

_GROUPS_A_UNIT = 8


@dataclass
class AnalysedRun:
    """One run.

    Attributes:
        number: its number in the analysis.
        folder: its folder.
        scenario: content of its scenario.yaml.
        history: its history (footers only).
        subject: what to judge; None if it has a verdict, which is kept.
        timing: the times by which its sends are told apart.
        windows: windows before, during and after each fault.
    """

    number: int
    folder: Path
    scenario: dict[str, Any]
    history: History
    subject: Subject | None
    timing: Timing
    windows: list[ImpactWindow] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Scenario and folder."""
        return store.run_name(self.folder)

    @cached_property
    def settings(self) -> list[PartitionSetting] | None:
        """The context of each partition; None if it has a verdict."""
        subject = self.subject
        return settings(self.history, subject.bound_ns, self.timing.load, subject.imposed) if subject else None

    def units(self) -> Iterator[Unit]:
        """Yield all units of work: row groups of operations, then partitions."""
        rows = group_sizes(self.folder / "operations.parquet")
        for first in range(0, len(rows), _GROUPS_A_UNIT):
            groups = tuple(range(first, min(first + _GROUPS_A_UNIT, len(rows))))
            yield Unit(self.number, self.folder, self.timing, sum(rows[index] for index in groups), groups=groups)
        known = self.settings
        for index, partition in enumerate(self.history.partitions):
            setting = known[index] if known else None
            model = model_of(self.history, partition.topic)
            yield Unit(self.number, self.folder, self.timing, partition.rows, partition, model, setting)


def open_run(number: int, folder: Path, *, recheck: bool) -> AnalysedRun:
    """Open a run by reading its footers; the history of a killed run is compacted first.

    Args:
        number: its number in the analysis.
        folder: the run folder.
        recheck: judge it even if it has a verdict.

    Raises:
        ChaoskitError: it cannot be read.
    """
    folder = folder.resolve()
    require_history(folder)
    verify(folder, RECORDED)
    if not (folder / "operations.parquet").exists():
        finish(folder)
    subject = read_subject(folder) if recheck or not _is_judged(folder) else None
    history = History.open(folder)
    load, faults = load_of(folder), history.recorded_faults
    windows = windows_of(faults, load.begin_ns, load.end_ns)
    extents = tuple((window.start_ns, window.end_ns) for window in windows)
    timing = Timing(load, faults_of(faults), extents)
    scenario = store.read_yaml(folder / store.SCENARIO, DeclaredSettings)
    return AnalysedRun(number, folder, scenario, history, subject, timing, windows)


def _is_judged(folder: Path) -> bool:
    """Return whether a run has a verdict and complete findings; a job killed during judging may leave them torn."""
    if not (folder / "findings.parquet").exists():
        return False
    try:
        read_findings(folder)
        read_verdict(folder)
    except BadInput:
        return False
    return True
