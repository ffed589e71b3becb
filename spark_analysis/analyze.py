"""`chaoskit analyze`: judges, measures and compares one run or thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from chaoskit.base import durable, owner, parquet, store
from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.base.latency import encoded, percentiles
from chaoskit.judge.counts import summed
from chaoskit.judge.metrics import histogram
from chaoskit.judge.timing import PHASES, QUIET, UNDER
from chaoskit.judge.verdict_file import read_verdict
from chaoskit.report.words import release
from spark_analysis.check import Outcome, findings_of, judge, survey, why_unjudged
from spark_analysis.configuration import configuration, settings
from spark_analysis.impact import Impact, by_kind, impacts, lost_ages, unavailable
from spark_analysis.page import page
from spark_analysis.runs import Run, open_run
from spark_analysis.session import parsed_settings, start
from spark_analysis.tables import SCHEMAS
from spark_analysis.trends import began_at, trends

_OUTCOMES = ("valid", "invalid", "unknown")
REPORT = "report.html"


@dataclass(frozen=True)
class Analysed:
    """The result of an analysis.

    Attributes:
        folder: the output folder.
        tables: rows by the name of the Parquet file (docs/analysis.md).
        skipped: runs that could not be read, with the reason.
    """

    folder: Path
    tables: Mapping[str, list[dict[str, Any]]]
    skipped: Mapping[str, str]

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / REPORT


class SparkAnalysis:
    """The analysis that the entry point `spark` names."""

    def analyze(
        self,
        store_folder: Path,
        *,
        master: str,
        out: Path,
        recheck: bool,
        settings: tuple[str, ...],
        tell: Callable[[str], None],
    ) -> Analysed:
        """Analyse all runs of a store, and write Parquet files and the report.

        Args:
            store_folder: the store.
            master: any master URL.
            out: output folder.
            recheck: also judge runs that already have a verdict.
            settings: Spark settings, as KEY=VALUE.
            tell: called with progress messages.

        Raises:
            BadInput: there is no such store, it has no readable runs, or Spark does not start.
        """
        chosen = parsed_settings(settings)
        runs, skipped = _opened(store_folder, recheck, tell)
        try:
            owner.make_folder(out)
        except OSError as error:
            raise BadInput(f"--out {out}: cannot be written: {error.strerror}; choose another folder") from error
        messages = sum(each.rows for run in runs for each in run.history.partitions)
        tell(f"{len(runs):,} runs, {messages:,} messages; starting Spark on {master}")
        spark = start(master, chosen, out / "spark.log")
        try:
            outcomes = survey(spark, runs, tell)
            unread = {run.name: why_unjudged(run, outcomes[run.number]) for run in runs}
            skipped |= {name: error for name, error in unread.items() if error is not None}
            runs = [run for run in runs if unread[run.name] is None]
            to_judge = [run for run in runs if run.subject is not None]
            tell(f"rows read; judging {len(to_judge):,} runs")
            findings = {run.number: findings_of(spark, run, outcomes[run.number]) for run in to_judge}
        finally:
            spark.stop()
        for run in to_judge:
            judge(run, outcomes[run.number], findings.pop(run.number))
            owner.give_all(run.folder)
        tell("comparing")
        analysed = Analysed(out, _tables(runs, outcomes), skipped)
        _write(analysed)
        return analysed


def _opened(store_folder: Path, recheck: bool, tell: Callable[[str], None]) -> tuple[list[Run], dict[str, str]]:
    runs: list[Run] = []
    skipped: dict[str, str] = {}
    for folder in store.runs(store_folder):
        try:
            runs.append(open_run(len(runs), folder, recheck=recheck))
        except PermissionError as error:
            raise owner.refused(error) from error
        except ChaoskitError as error:
            skipped[store.run_name(folder)] = str(error)
            tell(f"skipped {store.run_name(folder)}: {error}")
    if not runs:
        raise BadInput(f"store {store_folder}: has no runs that can be analysed; `chaoskit list` shows its runs")
    return runs, skipped


def _tables(runs: list[Run], outcomes: Mapping[int, Outcome]) -> dict[str, list[dict[str, Any]]]:
    found = {run.number: impacts(run, outcomes[run.number]) for run in runs}
    everything: list[Impact] = [each for run in runs for each in found[run.number]]
    rows = [_run_row(run, outcomes[run.number]) for run in runs]
    return {
        "runs": rows,
        "fault_windows": [each.row() for each in everything],
        "fault_kinds": by_kind(everything),
        "unavailable": [row for run in runs for row in unavailable(run, outcomes[run.number])],
        "lost_ages": [row for run in runs for row in lost_ages(run)],
        "configurations": _configurations(runs, rows, outcomes),
        "trends": trends(rows),
    }


def _run_row(run: Run, outcome: Outcome) -> dict[str, Any]:
    verdict = read_verdict(run.folder)
    recorded = histogram(outcome.counts, "send")
    anomalies = {name: each["count"] for name, each in verdict["anomalies"].items() if each["count"]}
    return {
        "run": run.name,
        "scenario": verdict["scenario"],
        "seed": verdict["seed"],
        "time": began_at(run),
        "system": release(run.scenario),
        "configuration": configuration(run.scenario),
        "verdict": verdict["verdict"],
        "reasons": verdict["reasons"],
        **verdict["counts"],
        "anomalies": list(anomalies.items()),
        "disallowed": [name for name, each in verdict["anomalies"].items() if not each["allowed"]],
        "lost": anomalies.get("lost", 0),
        "seconds": run.timing.load.seconds,
        "acks_per_s": verdict["rates"].get("acks_per_s", 0.0),
        "longest_unavailable_ms": verdict["availability"].get("longest_unavailable_ms"),
        "recovered_after_heal_ms": verdict["availability"].get("recovered_after_heal_ms"),
        **{name: value for name, value in percentiles(recorded).items() if name != "count"},
        "without": verdict["latency"].get("send", {}).get("without"),
        **{f"{name}_p99_ms": verdict["latency"].get(name, {}).get("send", {}).get("p99_ms") for name in PHASES},
        "histogram": encoded(recorded),
    }


def _configurations(
    runs: list[Run], rows: list[dict[str, Any]], outcomes: Mapping[int, Outcome]
) -> list[dict[str, Any]]:
    result = []
    for name in sorted({row["configuration"] for row in rows}):
        own = [(run, row) for run, row in zip(runs, rows, strict=True) if row["configuration"] == name]
        counts = summed([outcomes[run.number].counts for run, _ in own])
        quiet = histogram(counts, "took", QUIET)
        anomalies: dict[str, int] = {}
        for found, count in (each for _, row in own for each in row["anomalies"]):
            anomalies[found] = anomalies.get(found, 0) + count
        lost = anomalies.pop("lost", 0)
        seconds = sum(row["seconds"] for _, row in own)
        result.append(
            {
                "system": own[0][1]["system"],
                "configuration": name,
                "settings": settings(own[0][0].scenario),
                "runs": len(own),
                **{each: sum(row["verdict"] == each for _, row in own) for each in _OUTCOMES},
                "acked": sum(row["acked"] for _, row in own),
                "lost": lost,
                "runs_with_loss": sum(row["lost"] > 0 for _, row in own),
                "anomalies": sorted(anomalies.items(), key=lambda each: -each[1]),
                "disallowed": sorted({each for _, row in own for each in row["disallowed"]}),
                "acks_per_s": sum(row["acks_per_s"] * row["seconds"] for _, row in own) / seconds if seconds else 0.0,
                **{key: value for key, value in percentiles(quiet).items() if key != "count"},
                "under_faults_p99_ms": percentiles(histogram(counts, "took", UNDER))["p99_ms"],
                "histogram": encoded(quiet),
            }
        )
    return result


def _write(analysed: Analysed) -> None:
    files = {name: analysed.folder / f"{name}.parquet" for name in analysed.tables}
    for name, rows in analysed.tables.items():
        with durable.whole(files[name]) as unfinished:
            parquet.write(pa.Table.from_pylist(rows, SCHEMAS[name]), unfinished)
    durable.write(analysed.report, page(analysed.tables, analysed.skipped).encode())
    owner.give([*files.values(), analysed.report])
