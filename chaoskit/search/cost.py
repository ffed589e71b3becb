"""The cost of durability: for each setting of a sweep, what it costs without faults, and what is lost under each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median
from typing import Any

from chaoskit.judge.verdict.headline import StoredAnomaly, lost_messages
from chaoskit.judge.verdict.verdict import VALID
from chaoskit.report.markdown import table
from chaoskit.report.words import PERCENTILE_WORDS, number
from chaoskit.search.sweep import Results, Sweep
from chaoskit.search.table import proves

_POINTS = {key: name for key, name in PERCENTILE_WORDS.items() if key != "max_ms"}
_EXPOSURE = ("2nd copy, p50 / p99 ms", "cut of all: median / most")
_NONE = "-"


def header(sweep: Sweep, by_cell: Mapping[str, Results]) -> list[str]:
    """Return the column titles of the table: the other axes, cost without a fault, exposure if disks were recorded,
    then each fault."""
    axes = [axis for axis in sweep.axes if axis != sweep.across]
    return [
        *axes,
        "acks/s",
        *(f"{name} ms" for name in _POINTS.values()),
        *(_EXPOSURE if _recorded(by_cell) else ()),
        *(f"lost: {fault}" for fault in _faults(sweep)),
    ]


def rows(sweep: Sweep, by_cell: Mapping[str, Results]) -> Iterator[list[str]]:
    """Yield the table's rows, one for each combination of the other axes."""
    place = sweep.axes.index(sweep.across)
    first = sweep.cells[0].variants[place]
    recorded, faults = _recorded(by_cell), _faults(sweep)
    for names, cells in sweep.cells_across(sweep.across).items():
        runs = {
            variant: [verdict for _, verdict in sorted(by_cell[cell.name].verdicts.items())]
            for variant, cell in cells.items()
        }
        calm = [verdict for name, own in runs.items() if name not in faults for verdict in own]
        exposed = _exposure(calm) if recorded else []
        lost = [_lost(runs.get(fault, [])) for fault in faults]
        yield [*names, *_cost(runs.get(first, [])), *exposed, *lost]


def markdown(sweep: Sweep, by_cell: Mapping[str, Results]) -> str:
    """Return the table in Markdown, with a legend."""
    lines = table(header(sweep, by_cell), rows(sweep, by_cell))
    return "\n".join(["## Cost of durability", "", *lines, "", *LEGEND, ""])


LEGEND = (
    "Cost: of the runs without a fault; latency: of acknowledged sends, from when they were due, median over the runs.",
    "2nd copy: from the acknowledgement until a message is on stable storage of two hosts; cut of all: acknowledged",
    "messages on no stable storage, over time; medians over the runs whose disks were recorded (docs/exposure.md).",
    "Lost: acknowledged messages that were lost, of those acknowledged, in all runs; ?: not conclusive.",
)


def _faults(sweep: Sweep) -> list[str]:
    """Return the variants of the axis of faults that have any."""
    place = sweep.axes.index(sweep.across)
    return list(dict.fromkeys(cell.variants[place] for cell in sweep.cells if cell.plan.scenario.faults))


def _recorded(by_cell: Mapping[str, Results]) -> bool:
    return any(
        "loss_window" in _exposure_of(verdict) for results in by_cell.values() for verdict in results.verdicts.values()
    )


def _exposure_of(verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    exposure: Mapping[str, Any] = verdict.get("exposure", {})
    return exposure


def _exposure(verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lag to the second copy, and the loss window of a cut of all, of the runs whose disks were recorded."""
    exposures = [exposure for verdict in verdicts if (exposure := _exposure_of(verdict)).get("acked")]
    if not exposures:
        return [_NONE] * len(_EXPOSURE)
    lags = [[exposure["lag_ms"].get("2", {}).get(name) for exposure in exposures] for name in ("p50", "p99")]
    windows = [[exposure["loss_window"]["all"][name] for exposure in exposures] for name in ("median", "max")]
    return [
        " / ".join("never" if None in values else f"{median(values):,.1f}" for values in lags),
        " / ".join(number(round(median(values))) for values in windows),
    ]


def _cost(verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    if not verdicts:
        return [_NONE] * (1 + len(_POINTS))
    points = [verdict["latency"].get("send", {}) for verdict in verdicts]
    values = [[point[key] for point in points if point.get(key) is not None] for key in _POINTS]
    rate = mean(verdict["rates"]["acks_per_s"] for verdict in verdicts)
    return [number(round(rate)), *(f"{median(value):,.1f}" if value else _NONE for value in values)]


def _lost(verdicts: Sequence[Mapping[str, Any]]) -> str:
    if not verdicts:
        return _NONE
    lost = sum(_lost_in(verdict) for verdict in verdicts)
    acked = sum(verdict["counts"]["acked"] for verdict in verdicts)
    sure = all(map(proves, verdicts))
    unexpected = "" if all(verdict["verdict"] == VALID for verdict in verdicts) else " (not as expected)"
    return f"{lost:,} of {acked:,}{'' if sure or lost else ' ?'}{unexpected}"


def _lost_in(verdict: Mapping[str, Any]) -> int:
    return lost_messages({name: StoredAnomaly.of(anomaly) for name, anomaly in verdict["anomalies"].items()})
