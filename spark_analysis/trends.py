"""The same scenario over time, with regressions marked.

A value is a regression if it is worse than the median of the preceding ones (at most 20, at least 5)
by more than 5 times their median absolute deviation, and by at least 25 %. A verdict is one if it is not `valid` and
that of the preceding run was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from chaoskit.base.errors import BadInput
from chaoskit.base.store import read_json
from chaoskit.judge.verdict.verdict import VALID
from spark_analysis.runs import AnalysedRun

PRECEDING_MIN, PRECEDING_MAX = 5, 20
DEVIATIONS = 5
WORSE_BY = 0.25

MEASURES = {
    "due_p99_ms": 1,
    "acks_per_s": -1,
    "lost": 1,
    "longest_unavailable_ms": 1,
    "recovered_after_heal_ms": 1,
}
"""The monitored measures: 1 if more is worse, -1 if less is worse."""

VERDICT = "verdict"
"""The regression of a verdict."""


def is_regression(preceding: Sequence[float], value: float, worse: int) -> bool:
    """Return whether a value is a regression relative to preceding ones.

    Args:
        preceding: preceding values, oldest first.
        value: the new value.
        worse: 1 if more is worse, -1 if less is worse.
    """
    if len(preceding) < PRECEDING_MIN:
        return False
    known = np.array(preceding[-PRECEDING_MAX:], np.float64)
    median = float(np.median(known))
    deviation = float(np.median(np.abs(known - median)))
    by = (value - median) * worse
    return by > DEVIATIONS * deviation and by > 0 and by >= WORSE_BY * abs(median)


def trends(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return scenario, run, time, verdict, measures and `regressions` (names) of runs, by scenario and time.

    Args:
        rows: rows with these, but the last; measures that are None are skipped.
    """
    result: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: (row["scenario"], row["time"], row["run"])):
        before = [earlier for earlier in result if earlier["scenario"] == row["scenario"]][-PRECEDING_MAX:]
        marked = [
            name
            for name, worse in MEASURES.items()
            if row[name] is not None
            and is_regression([earlier[name] for earlier in before if earlier[name] is not None], row[name], worse)
        ]
        if before and before[-1]["verdict"] == VALID and row["verdict"] != VALID:
            marked.insert(0, VERDICT)
        kept = {name: row[name] for name in ("scenario", "run", "time", "verdict", "headline", *MEASURES)}
        result.append({**kept, "regressions": marked})
    return result


def began_at(run: AnalysedRun) -> datetime:
    """Return when a run began: from the name of its folder, by which all verbs order runs; else from origin.json, else
    from its history."""
    try:
        return datetime.strptime(run.folder.name.split("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(read_json(run.folder / "wal" / "origin.json")["wall"])
    except (BadInput, KeyError, ValueError, TypeError):
        return datetime.fromtimestamp((run.folder / "operations.parquet").stat().st_mtime, UTC)
