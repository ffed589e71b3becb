"""The runs of an analysis, as known before Spark reads their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base import parquet, store
from chaoskit.base.latency import Ints
from chaoskit.history.finish import finish
from chaoskit.history.manifest import RECORDED, verify
from chaoskit.history.reader import History
from chaoskit.judge.checking import settings
from chaoskit.judge.subject import Subject, read_subject
from spark_analysis.counting import are_sends
from spark_analysis.units import Timing, Unit
from spark_analysis.windows import Window, edges_of, windows_of

_GROUPS_A_UNIT = 8


@dataclass
class Run:
    """One run.

    Attributes:
        number: its number in the analysis.
        folder: its folder.
        scenario: content of its scenario.yaml.
        history: its history (footers only).
        subject: what to judge; None if it has a verdict, which is kept.
        begin_ns, end_ns: interval in which sends were due; both 0 if there were none.
        timing: the division of its time.
        windows: windows before, during and after each fault.
    """

    number: int
    folder: Path
    scenario: dict[str, Any]
    history: History
    subject: Subject | None
    begin_ns: int
    end_ns: int
    timing: Timing
    windows: list[Window] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Scenario and folder."""
        return store.run_name(self.folder)

    def units(self) -> Iterator[Unit]:
        """Yield all units of work: row groups of operations, then partitions."""
        footer = pq.read_metadata(self.folder / "operations.parquet")
        rows = [footer.row_group(index).num_rows for index in range(footer.num_row_groups)]
        for first in range(0, len(rows), _GROUPS_A_UNIT):
            groups = tuple(range(first, min(first + _GROUPS_A_UNIT, len(rows))))
            yield Unit(self.number, self.folder, self.timing, sum(rows[index] for index in groups), groups=groups)
        known = settings(self.history, self.subject.bound_ns) if self.subject else None
        for index, partition in enumerate(self.history.partitions):
            setting = known[index] if known else None
            yield Unit(self.number, self.folder, self.timing, partition.rows, partition, setting)


def open_run(number: int, folder: Path, *, recheck: bool) -> Run:
    """Open a run by reading its footers; the history of a killed run is compacted first.

    Args:
        number: its number in the analysis.
        folder: the run folder.
        recheck: judge it even if it has a verdict.

    Raises:
        ChaoskitError: it cannot be read.
    """
    folder = folder.resolve()
    verify(folder, RECORDED)
    if not (folder / "operations.parquet").exists():
        finish(folder)
    subject = read_subject(folder) if recheck or not _is_judged(folder) else None
    history = History.open(folder)
    load_start_ns = _load_start_ns(folder)
    begin_ns, end_ns = load_extent(folder / "operations.parquet", load_start_ns)
    windows = windows_of(history.faults.to_pylist(), begin_ns, end_ns)
    healed = [each for each in history.faults["healed_ns"].to_pylist() if each is not None]
    instants = np.unique(np.array([begin_ns, end_ns + 1, *healed, *edges_of(windows)], np.int64))
    timing = Timing(load_start_ns, edges_of(windows), instants)
    scenario = store.read_yaml(folder / store.SCENARIO)
    return Run(number, folder, scenario, history, subject, begin_ns, end_ns, timing, windows)


def load_extent(path: Path, load_start_ns: int) -> tuple[int, int]:
    """Return when the first and the last send of the load began; (0, 0) if there are none.

    Reads only row groups that, according to their statistics, may hold one of the two.
    """
    file = parquet.opened(path)
    column = file.schema_arrow.get_field_index("start_ns")
    extents = []
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        extents.append((statistics.min, statistics.max, group))
    begin: int | None = None
    for low, high, group in sorted(extents):
        if begin is not None and low >= begin:
            break
        if high >= load_start_ns and (starts := _starts(file, group, load_start_ns)).size:
            begin = min(int(starts.min()), begin) if begin is not None else int(starts.min())
    end: int | None = None
    for _, high, group in sorted(extents, key=lambda each: -each[1]):
        if begin is None or (end is not None and high <= end):
            break
        if (starts := _starts(file, group, load_start_ns)).size:
            end = max(int(starts.max()), end) if end is not None else int(starts.max())
    return (begin, end) if begin is not None and end is not None else (0, 0)


def _is_judged(folder: Path) -> bool:
    """Return whether a run has a verdict and complete findings; a job killed during judging may leave them torn."""
    try:
        pq.read_metadata(folder / "findings.parquet")
    except (pa.ArrowException, OSError):
        return False
    return (folder / store.VERDICT).exists()


def _starts(file: pq.ParquetFile, group: int, load_start_ns: int) -> Ints:
    table = file.read_row_group(group, columns=["f", "client", "start_ns"])
    starts = table["start_ns"].to_numpy()
    chosen: Ints = starts[are_sends(table) & (starts >= load_start_ns)]
    return chosen


def _load_start_ns(folder: Path) -> int:
    path = folder / store.RECOVERY
    return int(store.read_json(path).get("load_start_ns", 0)) if path.exists() else 0
