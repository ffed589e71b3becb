"""The verdicts of a sweep with the variants of one axis side by side, such as releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID
from chaoskit.report.markdown import table
from chaoskit.search.sweep import Results, Sweep

_NONE = "-"


def header(sweep: Sweep) -> list[str]:
    """Return the column titles: the other axes, then the variants of the axis, each with the system and its release."""
    place = sweep.axes.index(sweep.columns)
    releases = {cell.variants[place]: cell.plan.release for cell in sweep.cells}
    others = [axis for axis in sweep.axes if axis != sweep.columns]
    return [*others, *(f"{name}: {release}" for name, release in releases.items())]


def rows(sweep: Sweep, by_cell: Mapping[str, Results]) -> Iterator[list[str]]:
    """Yield the rows, one for each combination of the other axes."""
    place = sweep.axes.index(sweep.columns)
    names = list(dict.fromkeys(cell.variants[place] for cell in sweep.cells))
    for others, cells in sweep.cells_across(sweep.columns).items():
        chosen = (cells.get(name) for name in names)
        yield [*others, *(_outcome(sweep.count, by_cell[cell.name]) if cell else _NONE for cell in chosen)]


def markdown(sweep: Sweep, by_cell: Mapping[str, Results]) -> str:
    """Return the table in Markdown, with a legend."""
    lines = table(header(sweep), rows(sweep, by_cell))
    return "\n".join([f"## By {sweep.columns}", "", *lines, "", *LEGEND, ""])


LEGEND = (
    "Verdicts of all runs of a cell, and how many findings of each counted anomaly there were. VALID: what the",
    "scenario says came true, losses included where it expects some; a dash: not run.",
)


def _outcome(count: Sequence[str], results: Results) -> str:
    verdicts: list[Mapping[str, Any]] = list(results.verdicts.values())
    names = [str(verdict["verdict"]) for verdict in verdicts]
    words = [_times(names.count(name), name, len(names)) for name in (VALID, INVALID, UNKNOWN) if name in names]
    totals = {name: sum(verdict["anomalies"].get(name, {}).get("count", 0) for verdict in verdicts) for name in count}
    failed = [f"{len(results.broken)} failed"] if results.broken else []
    return ", ".join([*words, *(f"{total:,} {name}" for name, total in totals.items() if total), *failed]) or _NONE


def _times(number: int, name: str, runs: int) -> str:
    """Return a verdict, and how many runs had it, unless all had."""
    return name.upper() if number == runs else f"{number} {name.upper()}"
