"""The report of one run: verdict, load and faults, anomalies, and charts on one time axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.base import durable, owner, store
from chaoskit.base.errors import BadInput
from chaoskit.history.compacting.manifest import JUDGED, RECORDED, verify
from chaoskit.history.reading.reader import History, group_sizes
from chaoskit.judge.faults.consequence_words import in_words, staked
from chaoskit.judge.faults.readers import readers_of
from chaoskit.judge.subject.subject import DeclaredSettings
from chaoskit.judge.timing.timing import Timing, faults_of, load_of
from chaoskit.judge.verdict.bounds import Bounded, describe
from chaoskit.judge.verdict.headline import StoredAnomaly, lost_messages
from chaoskit.judge.verdict.verdict_file import read_findings, read_verdict
from chaoskit.report.figures import exposed, run_charts
from chaoskit.report.figures.series import anomalies_of, series_of
from chaoskit.report.page_file import tried
from chaoskit.report.run_tables import anomaly_rows, latency_rows
from chaoskit.report.summary import replay_command
from chaoskit.report.words import ended_in_words

REPORT = "report.html"
_QUICK_OPERATIONS = 1_000_000


def run_page(folder: Path) -> str:
    """Return the report of a judged run.

    Raises:
        BadInput: the run has no verdict, is damaged, or the packages of chaoskit[report] are missing.
    """
    from chaoskit.report.html import render  # noqa: PLC0415  # loads optional packages

    if (folder / store.VERDICT).exists():
        verify(folder, RECORDED, JUDGED)
    verdict, history = read_verdict(folder), History.open(folder)
    scenario = store.read_yaml(folder / store.SCENARIO, DeclaredSettings)
    faults = history.recorded_faults
    if len(faults) != len(verdict["faults"]):
        raise BadInput(
            f"{folder / store.VERDICT}: belongs to other faults; run `chaoskit check {folder}` to judge it again"
        )
    instants = [at_ns or 0 for fault in faults for at_ns in (fault.start_ns, fault.healed_ns)]
    load = load_of(folder)
    series = series_of(history, Timing(load, faults_of(faults)), max(instants, default=0))
    anomalies, domain = anomalies_of(read_findings(folder), series.axis), run_charts.domain_of(series.axis)
    bands = run_charts.bands(faults, series)
    return render(
        "run.html.j2",
        title=verdict["run"],
        verdict=verdict,
        lost=lost_messages({name: StoredAnomaly.of(anomaly) for name, anomaly in verdict["anomalies"].items()}),
        scenario=scenario,
        settings=(folder / store.SCENARIO).read_text(encoding="utf-8"),
        faults=faults,
        consequences=[
            "; ".join(filter(None, [in_words(fault), staked(fault)]))
            if "consequence" in fault and fault["effective"]
            else ""
            for fault in verdict["faults"]
        ],
        ended=list(ended_in_words(verdict.get("ended", ()))),
        anomalies=anomaly_rows(verdict, folder),
        strip=run_charts.strip(series, bands, anomalies, domain),
        figures=run_charts.figures(series, bands, anomalies, history.placements, readers_of(history, load.end_ns))
        + exposed.figures(_course(folder), domain),
        exposure=exposed.in_words(verdict["exposure"]) if "exposure" in verdict else [],
        latencies=latency_rows(verdict["latency"], with_faults=bool(faults)),
        unavailable=series.unavailable,
        bounds={name: describe(Bounded(**bound)) for name, bound in verdict.get("bounds", {}).items()},
        bin_s=series.axis.bin_ns / 1e9,
        folder=str(folder),
        replay=replay_command(folder) if "imported" not in scenario else None,
    )


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a judged run atomically; return its path.

    Raises:
        BadInput: see `run_page`; or the file cannot be written.
    """
    path = out or folder / REPORT
    content = run_page(folder)
    try:
        durable.write(path, content.encode())
        owner.give([path])
    except PermissionError as error:
        raise owner.refused(error, path) from error
    except OSError as error:
        raise BadInput(f"--out {path}: cannot be written: {error.strerror}; choose another file") from error
    return path


def is_quick(folder: Path) -> bool:
    """Return whether the report of a run takes about a second."""
    return sum(group_sizes(folder / "operations.parquet")) <= _QUICK_OPERATIONS


def try_report(folder: Path) -> str | None:
    """Write a run's report if possible; otherwise return the reason."""
    return tried(REPORT, lambda: write_report(folder))


def _course(folder: Path) -> list[dict[str, Any]]:
    """Return the exposure of each second, if the disks were recorded."""
    path = folder / store.EXPOSURE
    return store.read_json(path, list[dict[str, Any]]) if path.exists() else []
