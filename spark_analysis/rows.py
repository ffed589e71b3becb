"""The rows of the tables that an analysis writes (docs/analysis.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.latency import encoded, percentiles
from chaoskit.judge.timing.machine import full
from chaoskit.judge.timing.metrics import histogram
from chaoskit.judge.timing.timing import PHASES
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.report.words import due_p99_ms, release
from spark_analysis.configuration import configuration, configurations
from spark_analysis.impact import Impact, by_kind, impacts, lost_ages, unavailable
from spark_analysis.outcome import TaskResults
from spark_analysis.runs import AnalysedRun
from spark_analysis.trends import began_at, trends


def tables_of(runs: Sequence[AnalysedRun], outcomes: Mapping[int, TaskResults]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables, by the name of their Parquet file, given the outcomes by the number of the run."""
    by_run = {run.number: impacts(run, outcomes[run.number]) for run in runs}
    everything: list[Impact] = [impact for run in runs for impact in by_run[run.number]]
    rows = [_run_row(run, outcomes[run.number]) for run in runs]
    return {
        "runs": rows,
        "fault_windows": [impact.row() for impact in everything],
        "fault_kinds": by_kind(everything),
        "unavailable": [row for run in runs for row in unavailable(run, outcomes[run.number])],
        "lost_ages": [row for run in runs for row in lost_ages(run)],
        "configurations": configurations(runs, rows, outcomes),
        "trends": trends(rows),
    }


def _run_row(run: AnalysedRun, outcome: TaskResults) -> dict[str, Any]:
    verdict = read_verdict(run.folder)
    recorded = histogram(outcome.counts, "send")
    anomalies = {name: anomaly["count"] for name, anomaly in verdict["anomalies"].items() if anomaly["count"]}
    return {
        "run": run.name,
        "scenario": verdict["scenario"],
        "seed": verdict["seed"],
        "time": began_at(run),
        "system": release(run.scenario),
        "configuration": configuration(run.scenario),
        "verdict": verdict["verdict"],
        "headline": verdict.get("headline", ""),
        "reasons": verdict["reasons"],
        **verdict["counts"],
        "anomalies": list(anomalies.items()),
        "disallowed": [name for name, anomaly in verdict["anomalies"].items() if not anomaly["allowed"]],
        "lost": anomalies.get("lost", 0),
        "seconds": run.timing.load.seconds,
        "acks_per_s": verdict["rates"].get("acks_per_s", 0.0),
        "longest_unavailable_ms": verdict["availability"].get("longest_unavailable_ms"),
        "recovered_after_heal_ms": verdict["availability"].get("recovered_after_heal_ms"),
        **{name: value for name, value in percentiles(recorded).items() if name != "count"},
        "due_p99_ms": due_p99_ms(verdict["latency"].get("send", {})),
        "without": verdict["latency"].get("send", {}).get("without"),
        "machine_full": bool(verdict.get("machine")) and any(full(verdict["machine"])),
        **{f"{name}_p99_ms": verdict["latency"].get(name, {}).get("send", {}).get("p99_ms") for name in PHASES},
        "histogram": encoded(recorded),
    }
