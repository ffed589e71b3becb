"""The summary of an analysis in Markdown, as continuous integration shows it beside a build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.base.plain import one_line
from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID
from chaoskit.report.words import milliseconds, number
from spark_analysis.standing import ScenarioStanding

_MARKS = {VALID: "✅ valid", INVALID: "❌ invalid", UNKNOWN: "❔ unknown"}
_UNREADABLE = "❔ not readable"
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|"})


def markdown(
    standings: Sequence[ScenarioStanding], runs: Sequence[Mapping[str, Any]], skipped: Mapping[str, str] | None = None
) -> str:
    """Return the summary: how each scenario stands.

    Args:
        standings: see `spark_analysis.standing`.
        runs: rows of runs.
        skipped: runs that could not be read, with the reason.
    """
    skipped = skipped or {}
    counts = {verdict: sum(row["verdict"] == verdict for row in runs) for verdict in _MARKS}
    shares = [f"{count:,} {verdict}" for verdict, count in counts.items() if count]
    shares += [f"{len(skipped):,} not readable"] if skipped else []
    lines = [f"## chaoskit: {len(runs) + len(skipped):,} runs, {', '.join(shares)}", ""]
    lines += [*_scenarios(standings, runs, skipped), *_differences(standings)]
    lines += [f"- {_UNREADABLE} {_cell(name)}: {_cell(why)}" for name, why in skipped.items()]
    return "\n".join(lines).rstrip() + "\n"


def _scenarios(
    standings: Sequence[ScenarioStanding], runs: Sequence[Mapping[str, Any]], skipped: Mapping[str, str]
) -> Iterator[str]:
    """Yield a row for each scenario: those that are not valid now first, then those that ran several times."""
    yield "| scenario | last run | since | what happened | lost | send p99 | recovery |"
    yield "|---|---|---|---|---|---|---|"
    for standing in standings:
        first = standing.first_bad
        since = "" if first is None else f"{first['time']:%Y-%m-%d %H:%M}, {_runs(standing.bad_runs)}"
        yield _row(standing.latest, since, skipped)
    several = {standing.scenario for standing in standings}
    once = [row for row in runs if row["scenario"] not in several]
    for row in sorted(once, key=lambda row: (row["verdict"] == VALID, row["scenario"])):
        yield _row(row, "", skipped)
    yield ""


def _row(row: Mapping[str, Any], since: str, skipped: Mapping[str, str]) -> str:
    """Return the row of a scenario, whose last run may be one that could not be read."""
    folder = row["run"].partition("/")[0]
    unread = any(name.partition("/")[0] == folder and name > row["run"] for name in skipped)
    mark = f"{_UNREADABLE}; before: {_MARKS[row['verdict']]}" if unread else _MARKS[row["verdict"]]
    times = (milliseconds(row[name]) for name in ("due_p99_ms", "recovered_after_heal_ms"))
    cells = (row["scenario"], mark, since, row["headline"], number(row["lost"]), *times)
    return f"| {' | '.join(map(_cell, cells))} |"


def _differences(standings: Sequence[ScenarioStanding]) -> Iterator[str]:
    for standing in standings:
        if standing.first_bad is not None and standing.last_good is not None:
            good, bad = _cell(standing.last_good["run"]), _cell(standing.first_bad["run"])
            scenario, difference = _cell(standing.scenario), _cell(standing.difference)
            yield f"- **{scenario}**: {bad} differs from {good}, the last valid run, by: {difference}"
        elif standing.last_bad is not None:
            bad, headline = _cell(standing.last_bad["run"]), _cell(standing.last_bad["headline"])
            scenario, difference = _cell(standing.scenario), _cell(standing.difference)
            before = f"{bad} was {standing.last_bad['verdict']}: {headline}"
            yield f"- **{scenario}** is valid again; {before}; changed since: {difference}"
    yield ""


def _runs(count: int) -> str:
    return f"{count} run{'s' if count > 1 else ''}"


def _cell(text: str) -> str:
    """Return a text as one cell of a table, which cannot end it, and marks up nothing."""
    return one_line(text).translate(_SPECIAL)
