"""`chaoskit analyze`: judges, measures and compares one run or thousands of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from chaoskit.base import durable, owner, parquet, store
from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.report.run_page import REPORT as RUN_REPORT
from spark_analysis import alone
from spark_analysis.markdown import markdown
from spark_analysis.outcome import TaskResults, judge, why_unjudged
from spark_analysis.page import page
from spark_analysis.rows import tables_of
from spark_analysis.runs import AnalysedRun, open_run
from spark_analysis.standing import ScenarioStanding, standings
from spark_analysis.tables import SCHEMAS

REPORT, SUMMARY = "report.html", "summary.md"

ALONE_MAX = 5_000_000
"""Up to so many messages are read sooner in this process than Spark starts."""


@dataclass(frozen=True)
class Analysed:
    """The result of an analysis.

    Attributes:
        folder: the output folder.
        tables: rows by the name of the Parquet file (docs/analysis.md).
        skipped: runs that could not be read, with the reason.
        standings: how each scenario with several runs stands.
        folders: the folder of each run.
    """

    folder: Path
    tables: Mapping[str, list[dict[str, Any]]]
    skipped: Mapping[str, str]
    standings: Sequence[ScenarioStanding]
    folders: Mapping[str, Path]

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / REPORT

    @property
    def summary(self) -> Path:
        """The summary in Markdown."""
        return self.folder / SUMMARY


class SparkAnalysis:
    """The analysis that the entry point `spark` names."""

    def analyze(
        self,
        store_folder: Path,
        *,
        master: str | None,
        out: Path,
        recheck: bool,
        settings: tuple[str, ...],
        tell: Callable[[str], None],
    ) -> Analysed:
        """Analyse all runs of a store, and write Parquet files and the report.

        Args:
            store_folder: the store.
            master: any master URL; None: this process reads up to `ALONE_MAX` messages, and Spark on this machine
                more.
            out: output folder.
            recheck: also judge runs that already have a verdict.
            settings: Spark settings, as KEY=VALUE.
            tell: called with progress messages.

        Raises:
            BadInput: there is no such store, it has no readable runs, or Spark does not start.
        """
        runs, skipped = _opened(store_folder, recheck, tell)
        try:
            owner.make_folder(out)
        except OSError as error:
            raise BadInput(f"--out {out}: cannot be written: {error.strerror}; choose another folder") from error
        messages = sum(partition.rows for run in runs for partition in run.history.partitions)
        if master is None and not settings and messages <= ALONE_MAX:
            tell(f"{len(runs):,} runs, {messages:,} messages; reading them without Spark")
            surveyed = _surveyed(runs, alone.survey, alone.findings_of, tell)
        else:
            master = master or "local[*]"
            tell(f"{len(runs):,} runs, {messages:,} messages; starting Spark on {master}")
            surveyed = _surveyed_with_spark(runs, master, settings, out / "spark.log", tell)
        for run, findings in surveyed.to_judge:
            judge(run, surveyed.outcomes[run.number], findings)
            owner.give_all(run.folder)
        tell("comparing")
        analysed = _analysed(out, surveyed, {**skipped, **surveyed.unread})
        _write(analysed)
        return analysed


@dataclass(frozen=True)
class _Surveyed:
    """What was read: the runs that could be read, their outcomes by number, those to judge with their findings, and why
    others could not be read."""

    runs: list[AnalysedRun]
    outcomes: Mapping[int, TaskResults]
    to_judge: list[tuple[AnalysedRun, pa.Table]]
    unread: Mapping[str, str]


def _surveyed(
    runs: Sequence[AnalysedRun],
    survey: Callable[[Sequence[AnalysedRun], Callable[[str], None]], dict[int, TaskResults]],
    findings_of: Callable[[AnalysedRun, TaskResults], pa.Table],
    tell: Callable[[str], None],
) -> _Surveyed:
    outcomes = survey(runs, tell)
    unread = {run.name: why for run in runs if (why := why_unjudged(run, outcomes[run.number])) is not None}
    known = [run for run in runs if run.name not in unread]
    to_judge = [run for run in known if run.subject is not None]
    tell(f"rows read; judging {len(to_judge):,} runs")
    return _Surveyed(known, outcomes, [(run, findings_of(run, outcomes[run.number])) for run in to_judge], unread)


def _surveyed_with_spark(
    runs: Sequence[AnalysedRun], master: str, settings: tuple[str, ...], log: Path, tell: Callable[[str], None]
) -> _Surveyed:
    # not imported, and Java not needed, where few runs are read without it
    from spark_analysis import check  # noqa: PLC0415
    from spark_analysis.session import parsed_settings, start  # noqa: PLC0415

    spark = start(master, parsed_settings(settings), log)
    try:
        return _surveyed(runs, partial(check.survey, spark), partial(check.findings_of, spark), tell)
    finally:
        spark.stop()


def _analysed(out: Path, surveyed: _Surveyed, skipped: Mapping[str, str]) -> Analysed:
    tables = tables_of(surveyed.runs, surveyed.outcomes)
    scenarios = {run.name: run.scenario for run in surveyed.runs}
    folders = {run.name: run.folder for run in surveyed.runs}
    return Analysed(out, tables, skipped, standings(tables["trends"], scenarios), folders)


def _opened(store_folder: Path, recheck: bool, tell: Callable[[str], None]) -> tuple[list[AnalysedRun], dict[str, str]]:
    runs: list[AnalysedRun] = []
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


def _write(analysed: Analysed) -> None:
    files = {name: analysed.folder / f"{name}.parquet" for name in analysed.tables}
    for name, rows in analysed.tables.items():
        with durable.whole(files[name]) as unfinished:
            parquet.write(pa.Table.from_pylist(rows, SCHEMAS[name]), unfinished)
    report = page(analysed.tables, analysed.skipped, analysed.standings, _links(analysed))
    durable.write(analysed.report, report.encode())
    durable.write(analysed.summary, markdown(analysed.standings, analysed.tables["runs"], analysed.skipped).encode())
    owner.give([*files.values(), analysed.report, analysed.summary])


def _links(analysed: Analysed) -> dict[str, str]:
    """Return where the report of each run is that has one, relative to that of the analysis."""
    reports = {name: folder / RUN_REPORT for name, folder in analysed.folders.items()}
    here = analysed.folder.resolve()
    return {name: quote(os.path.relpath(path, here)) for name, path in reports.items() if path.exists()}
