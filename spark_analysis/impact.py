"""The impact of faults: latency, throughput and unavailability before, during and after each; and the age
of lost messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints, encoded, merged, percentiles
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.history.format.fault import Fault
from chaoskit.judge.timing.counts import of_series
from chaoskit.judge.timing.metrics import never_made
from chaoskit.judge.verdict.verdict_file import read_findings
from chaoskit.report.words import release
from spark_analysis.outcome import TaskResults
from spark_analysis.runs import AnalysedRun
from spark_analysis.windows import AFTER, BEFORE, DURING, ImpactWindow

PHASES = (BEFORE, DURING, AFTER)
AGE_EDGES_MS = (0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
"""Bins for the age of lost messages: from their acknowledgement to the next fault's effect."""


@dataclass(frozen=True)
class Impact:
    """Measurements of one window of one fault."""

    run: AnalysedRun
    window: ImpactWindow
    bucket: Ints
    count: Ints
    due: int
    acked: int
    longest_gap_ms: float
    recovery_ms: float | None

    def row(self) -> dict[str, Any]:
        """Return it as a row of faults.parquet of the analysis."""
        recorded = merged(self.bucket, self.count)
        seconds = (self.window.end_ns - self.window.start_ns) / 1e9
        return {
            "run": self.run.name,
            "scenario": self.run.folder.parent.name,
            "fault": self.window.fault,
            "kind": self.window.kind,
            "phase": self.window.phase,
            "start_ns": self.window.start_ns,
            "end_ns": self.window.end_ns,
            "due": self.due,
            "acked": self.acked,
            "acked_per_s": self.acked / seconds,
            "longest_gap_ms": self.longest_gap_ms,
            "recovery_ms": self.recovery_ms,
            **percentiles(recorded),
            "histogram": encoded(recorded),
        }


def impacts(run: AnalysedRun, outcome: TaskResults) -> list[Impact]:
    """Return the impact of each fault of a run on its load."""
    send = of_series(outcome.counts, "send")
    segment, bucket, count = (send[name].to_numpy() for name in ("segment", "bucket", "count"))
    missing_ns, missing = never_made(outcome.counts, run.timing.load)
    result = []
    for number, window in enumerate(run.windows):
        first, last = np.searchsorted(run.timing.edges, [window.start_ns, window.end_ns], side="right")
        inside = (segment >= first) & (segment < last)
        due, acked = (_sum(outcome.counts, series, int(first), int(last)) for series in ("due", "acked"))
        due += int(missing[(missing_ns >= window.start_ns) & (missing_ns < window.end_ns)].sum())
        longest_ms = _longest_ms(outcome.waits, "window", number) or 0.0
        recovery_ms = _longest_ms(outcome.waits, "healed", window.fault) if window.phase == AFTER else None
        result.append(Impact(run, window, bucket[inside], count[inside], due, acked, longest_ms, recovery_ms))
    return result


def by_kind(measured: Sequence[Impact]) -> list[dict[str, Any]]:
    """Return for each kind of fault in each system and phase the merged distribution, throughput and recovery."""
    rows = []
    for kind, of_system in sorted({(impact.window.kind, release(impact.run.scenario)) for impact in measured}):
        for phase in PHASES:
            named = kind, of_system, phase
            chosen = [
                impact
                for impact in measured
                if (impact.window.kind, release(impact.run.scenario), impact.window.phase) == named
            ]
            if not chosen:
                continue
            recorded = merged(
                np.concatenate([impact.bucket for impact in chosen]),
                np.concatenate([impact.count for impact in chosen]),
            )
            seconds = sum(impact.window.end_ns - impact.window.start_ns for impact in chosen) / 1e9
            recoveries = [impact.recovery_ms for impact in chosen if impact.recovery_ms is not None]
            rows.append(
                {
                    "system": of_system,
                    "kind": kind,
                    "phase": phase,
                    "faults": len(chosen),
                    "acked_per_s": sum(impact.acked for impact in chosen) / seconds,
                    **percentiles(recorded),
                    "longest_gap_ms": max(impact.longest_gap_ms for impact in chosen),
                    "recovery_ms": max(recoveries, default=None),
                    "histogram": encoded(recorded),
                }
            )
    return rows


def unavailable(run: AnalysedRun, outcome: TaskResults) -> list[dict[str, Any]]:
    """Return the times of half a second or more in which sends to a partition were due and none was acknowledged."""
    rows = outcome.waits.filter(pc.equal(outcome.waits["of"], "long"))
    kept = rows.select(["topic", "partition", "begin_ns", "end_ns", "answered"])
    named = kept.rename_columns(["topic", "partition", "start_ns", "end_ns", "answered"])
    return [{"run": run.name, **row} for row in named.to_pylist()]


def lost_ages(run: AnalysedRun) -> list[dict[str, Any]]:
    """Return the number of lost messages by age: ms from the acknowledgement to the next fault's effect.

    `kind` is the kind of that fault; None for messages after which no fault took effect.
    """
    findings = read_findings(run.folder)
    is_lost = pc.equal(findings["anomaly"].cast(pa.string()), installed.gone(Gone.LOST)[0])
    lost = findings.filter(is_lost)["at_ns"].drop_null().to_numpy()
    faults = [fault for fault in run.history.recorded_faults if fault.effective_ns is not None]
    return [{"run": run.name, **row} for row in ages(lost, faults)]


def ages(acked_ns: Ints, faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """Return counts by age and kind of the next fault, given faults with a proved effect."""
    ordered = sorted(faults, key=lambda fault: fault.effective_ns or 0)
    effective = np.array([fault.effective_ns for fault in ordered], np.int64)
    following = np.searchsorted(effective, acked_ns)
    rows = []
    for index in np.unique(following).tolist():
        chosen = acked_ns[following == index]
        if index == effective.size:
            rows.append({"kind": None, "from_ms": None, "to_ms": None, "count": int(chosen.size)})
            continue
        age_ms = (effective[index] - chosen) / 1e6
        bins = np.bincount(np.searchsorted(AGE_EDGES_MS, age_ms, side="right") - 1, minlength=len(AGE_EDGES_MS))
        rows += [
            {
                "kind": ordered[index].kind,
                "from_ms": AGE_EDGES_MS[number],
                "to_ms": AGE_EDGES_MS[number + 1] if number + 1 < len(AGE_EDGES_MS) else None,
                "count": int(bins[number]),
            }
            for number in np.flatnonzero(bins).tolist()
        ]
    return rows


def _sum(counts: pa.Table, series: str, first: int, last: int) -> int:
    rows = of_series(counts, series)
    segment = rows["segment"].to_numpy()
    return int(rows["count"].to_numpy()[(segment >= first) & (segment < last)].sum())


def _longest_ms(waits: pa.Table, of: str, number: int) -> float | None:
    """Return the longest wait of this kind and number, that of the worst partition; None if there is none."""
    rows = waits.filter(pc.and_(pc.equal(waits["of"], of), pc.equal(waits["number"], number)))
    lasted = rows["end_ns"].to_numpy() - rows["begin_ns"].to_numpy()
    return float(lasted.max() / 1e6) if lasted.size else None
