"""The cost of durability: for each setting of a sweep, what it costs without faults, and what is lost under each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median
from typing import Any

from chaoskit.judge.headline import Told, lost_messages
from chaoskit.judge.verdict import VALID
from chaoskit.report.words import PERCENTILE_WORDS, number
from chaoskit.search.sweep import Results, Sweep
from chaoskit.search.table import proves

_POINTS = {key: name for key, name in PERCENTILE_WORDS.items() if key != "max_ms"}
_NONE = "-"


def header(sweep: Sweep) -> list[str]:
    """Return the column titles of the table: the other axes, cost without a fault, then each fault."""
    axes = [axis for axis in sweep.axes if axis != sweep.across]
    return [
        *axes,
        "acks/s",
        *(f"{name} ms" for name in _POINTS.values()),
        *(f"lost: {fault}" for fault in _faults(sweep)[1:]),
    ]


def rows(sweep: Sweep, found: Mapping[str, Results]) -> Iterator[list[str]]:
    """Yield the table's rows, one for each combination of the other axes."""
    place = sweep.axes.index(sweep.across)
    faults = _faults(sweep)
    settings: dict[tuple[str, ...], dict[str, Sequence[Mapping[str, Any]]]] = {}
    for cell in sweep.cells:
        rest = (*cell.variants[:place], *cell.variants[place + 1 :])
        verdicts = [verdict for _, verdict in sorted(found[cell.name].verdicts.items())]
        settings.setdefault(rest, {})[cell.variants[place]] = verdicts
    for names, runs in settings.items():
        calm = runs.get(faults[0], [])
        yield [*names, *_cost(calm), *(_lost(runs.get(fault, [])) for fault in faults[1:])]


def markdown(sweep: Sweep, found: Mapping[str, Results]) -> str:
    """Return the table in Markdown, with a legend."""
    lines = [header(sweep), ["---"] * len(header(sweep)), *rows(sweep, found)]
    return "\n".join(["## Cost of durability", "", *(f"| {' | '.join(line)} |" for line in lines), "", *LEGEND, ""])


LEGEND = (
    "Cost: of the runs without a fault; latency: of acknowledged sends, from when they were due, median over the runs.",
    "Lost: acknowledged messages that were lost, of those acknowledged, in all runs; ?: a run does not tell.",
)


def _faults(sweep: Sweep) -> list[str]:
    place = sweep.axes.index(sweep.across)
    return list(dict.fromkeys(cell.variants[place] for cell in sweep.cells))


def _cost(verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    if not verdicts:
        return [_NONE] * (1 + len(_POINTS))
    told = [verdict["latency"].get("send", {}) for verdict in verdicts]
    values = [[point[key] for point in told if point.get(key) is not None] for key in _POINTS]
    rate = mean(verdict["rates"]["acks_per_s"] for verdict in verdicts)
    return [number(round(rate)), *(f"{median(each):,.1f}" if each else _NONE for each in values)]


def _lost(verdicts: Sequence[Mapping[str, Any]]) -> str:
    if not verdicts:
        return _NONE
    lost = sum(_lost_in(verdict) for verdict in verdicts)
    acked = sum(verdict["counts"]["acked"] for verdict in verdicts)
    sure = all(map(proves, verdicts))
    unexpected = "" if all(verdict["verdict"] == VALID for verdict in verdicts) else " (not as expected)"
    return f"{lost:,} of {acked:,}{'' if sure or lost else ' ?'}{unexpected}"


def _lost_in(verdict: Mapping[str, Any]) -> int:
    return lost_messages({name: Told.of(told) for name, told in verdict["anomalies"].items()})
