"""The summary of an analysis in Markdown, as continuous integration shows it beside a build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.base.plain import one_line
from chaoskit.judge.verdict import INVALID, UNKNOWN, VALID
from chaoskit.report.words import milliseconds, number
from spark_analysis.standing import Standing

_MARKS = {VALID: "✅ valid", INVALID: "❌ invalid", UNKNOWN: "❔ unknown"}
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|"})


def markdown(standings: Sequence[Standing], runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary: how each scenario with several runs stands, and all runs that are not valid of the others.

    Args:
        standings: see `spark_analysis.standing`.
        runs: rows of runs.
    """
    counts = {verdict: sum(row["verdict"] == verdict for row in runs) for verdict in _MARKS}
    told = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items() if count)
    return "\n".join([f"## chaoskit: {len(runs):,} runs, {told}", "", *_scenarios(standings), *_once(standings, runs)])


def _scenarios(standings: Sequence[Standing]) -> Iterator[str]:
    if not standings:
        return
    yield "| scenario | last run | since | what happened | lost | send p99 | recovery |"
    yield "|---|---|---|---|---|---|---|"
    for standing in standings:
        row, first = standing.latest, standing.first_bad
        since = (
            ""
            if first is None
            else f"{first['time']:%Y-%m-%d %H:%M}, {standing.bad_runs} run{'s' if standing.bad_runs > 1 else ''}"
        )
        times = (milliseconds(row[name]) for name in ("p99_ms", "recovered_after_heal_ms"))
        told = row["headline"].partition(";")[0]
        cells = (standing.scenario, _MARKS[row["verdict"]], since, told, number(row["lost"]), *times)
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""
    for standing in standings:
        if standing.first_bad is not None and standing.last_good is not None:
            what = "; ".join(standing.differs) or "nothing in the scenario"
            good, bad = _cell(standing.last_good["run"]), _cell(standing.first_bad["run"])
            yield f"- **{_cell(standing.scenario)}**: {bad} differs from {good}, the last valid run, by: {_cell(what)}"
    yield ""


def _once(standings: Sequence[Standing], runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    several = {standing.scenario for standing in standings}
    for row in runs:
        if row["scenario"] not in several and row["verdict"] != VALID:
            yield f"- {_MARKS[row['verdict']]} {_cell(row['run'])}: {_cell(row['headline'])}"


def _cell(text: str) -> str:
    """Return a text as one cell of a table, which cannot end it, and marks up nothing."""
    return one_line(text).translate(_SPECIAL)
