"""The page of benchmarks: latencies of several systems beside each other, each with its verdict on durability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskit.judge.timing.machine import Machine
from chaoskit.report.comparisons import PALETTE, dots
from chaoskit.report.figures import charts
from chaoskit.report.page_file import write_page
from chaoskit.report.words import describe_machine

_NINES_MAX = 5.0
_PERIOD_S = 10
_PUBLISH = "aggregatedPublishLatency"
_POINTS = {"50pct": "p50", "99pct": "p99", "999pct": "p99.9", "9999pct": "p99.99"}


@dataclass(frozen=True, slots=True)
class Measurement:
    """One result.

    Attributes:
        workload, system: what was measured.
        run: its run folder, as text.
        verdict: VALID, INVALID or UNKNOWN.
        acked, lost: numbers of messages.
        acked_per_s: rate that was reached.
        backlog: what became of its backlog, in words; empty if it had none.
        document: OMB's result.
        machine: the machine meanwhile.
        doubts: why the figures are not those of the system.
    """

    workload: str
    system: str
    run: str
    verdict: str
    acked: int
    lost: int
    acked_per_s: float
    backlog: str
    document: dict[str, Any]
    machine: Machine | None
    doubts: tuple[str, ...]

    @property
    def row(self) -> dict[str, str]:
        """Its row of the table, by column."""
        publish, travel = (
            {name: f"{self.document[f'{prefix}{key}']:,.2f}" for key, name in _POINTS.items()}
            for prefix in (_PUBLISH, "aggregatedEndToEndLatency")
        )
        return {
            "acked/s": f"{self.acked_per_s:,.0f}",
            **{f"{name} ms": value for name, value in publish.items()},
            "max ms": f"{self.document[f'{_PUBLISH}Max']:,.2f}",
            "end to end p50 ms": travel["p50"],
            "end to end p99 ms": travel["p99"],
            "acknowledged": f"{self.acked:,}",
            "lost": f"{self.lost:,}",
            "verdict": self.verdict,
        }

    @property
    def machine_told(self) -> str:
        """What the machine did, on one line; empty if nobody watched."""
        return describe_machine(self.machine) if self.machine else ""


@dataclass(frozen=True, slots=True)
class Rung:
    """A rate that was tried.

    Attributes:
        workload, system: what was run.
        acked_per_s: the rate that was reached.
        document: OMB's result.
        why_not: why it was not borne; empty if it was.
    """

    workload: str
    system: str
    acked_per_s: float
    document: dict[str, Any]
    why_not: str


def write_benchmarks(
    measurements: Sequence[Measurement], out: Path, rungs: Sequence[Rung] = (), remarks: Sequence[str] = ()
) -> None:
    """Write the page.

    Args:
        measurements: the results.
        out: the file.
        rungs: the rates that were tried to find theirs.
        remarks: what is said above all results.

    Raises:
        BadInput: the packages of chaoskit[report] are missing, or the file cannot be written.
    """
    from chaoskit.report.html import render  # noqa: PLC0415  # loads optional packages

    systems = list(dict.fromkeys(measurement.system for measurement in measurements))
    colours = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(systems)}
    content = render(
        "benchmarks.html.j2",
        title="Benchmarks",
        remarks=remarks,
        workloads={
            name: [measurement for measurement in measurements if measurement.workload == name]
            for name in dict.fromkeys(measurement.workload for measurement in measurements)
        },
        columns=list(measurements[0].row),
        colours=colours,
        figures=[*_overview(measurements, colours), *_ladders(rungs, colours), *_by_workload(measurements, colours)],
    )
    write_page(out, content)


def _overview(measurements: Sequence[Measurement], colours: dict[str, str]) -> list[dict[str, Any]]:
    rows = [
        {
            "name": f"{measurement.workload} {point}",
            "series": measurement.system,
            "value": measurement.document[f"{_PUBLISH}{key}"],
            "what": f"{measurement.workload} with {measurement.system}, {point}",
        }
        for measurement in measurements
        for key, point in (("50pct", "p50"), ("99pct", "p99"))
    ]
    heading = "Latency from the call of send to its acknowledgement"
    return [_figure("overview", heading, dots(rows, None, list(colours), list(colours.values())))]


def _ladders(rungs: Sequence[Rung], colours: dict[str, str]) -> list[dict[str, Any]]:
    """Return for each workload p99 against the rate that was reached."""
    figures = []
    for number, workload in enumerate(dict.fromkeys(rung.workload for rung in rungs)):
        own = sorted((rung for rung in rungs if rung.workload == workload), key=lambda rung: rung.acked_per_s)
        names = {f"r{index}": (name, colour) for index, (name, colour) in enumerate(colours.items())}
        keys = {name: key for key, (name, _) in names.items()}
        rows = [
            {"t": round(rung.acked_per_s), "part": rung.system, keys[rung.system]: rung.document[f"{_PUBLISH}99pct"]}
            for rung in own
            if rung.system in keys and rung.document[f"{_PUBLISH}99pct"] > 0
        ]
        if not rows:
            continue
        shown = [{"ms": value} for row in rows for key, value in row.items() if key in names]
        x = charts.time_x([0, max(row["t"] for row in rows)], "acknowledged messages per second")
        title = f"{workload}: p99 (ms) by rate"
        layers = charts.lines(rows, names, x, charts.log_y("p99 (ms)", shown, ["ms"]), charts.told(t="messages/s"))
        figures.append(_figure(f"ladder{number}", title, charts.chart(title, 230, layers)))
    return figures


def _by_workload(measurements: Sequence[Measurement], colours: dict[str, str]) -> list[dict[str, Any]]:
    figures = []
    for number, workload in enumerate(dict.fromkeys(measurement.workload for measurement in measurements)):
        own = [measurement for measurement in measurements if measurement.workload == workload]
        names = {
            f"r{index}": (measurement.system, colours[measurement.system]) for index, measurement in enumerate(own)
        }
        curves, times = _curves(own), _times(own, "publishLatency99pct")
        waiting = _times(own, "backlog") if any(measurement.backlog for measurement in own) else []
        tooltip = [{"field": key, "title": name} for key, (name, _) in names.items()]
        for id_, heading, unit, rows, x in (
            ("curve", "latency by percentile (ms)", "ms", curves, _nines()),
            ("time", "p99 over time (ms)", "ms", times, _since(times)),
            ("waiting", "messages that wait for consumers", "messages", waiting, _since(waiting)),
        ):
            shown = [{unit: value} for row in rows for key, value in row.items() if key in names]
            if not shown:
                continue
            axis = charts.log_y(unit, shown, [unit])
            title = f"{workload}: {heading}"
            layers = charts.lines(rows, names, x, axis, [*charts.told(t=x["title"])[:1], *tooltip])
            figures.append(_figure(f"{id_}{number}", title, charts.chart(title, 230, layers)))
    return figures


def _curves(own: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return rows of latency by nines: 1 is 90 %, 2 is 99 %."""
    return [
        {"t": round(nines, 4), "part": str(index), f"r{index}": value}
        for index, measurement in enumerate(own)
        for level, value in measurement.document[f"{_PUBLISH}Quantiles"].items()
        if value > 0 and (nines := -math.log10(max(1 - float(level) / 100, 1e-9))) <= _NINES_MAX
    ]


def _times(own: Sequence[Measurement], series: str) -> list[dict[str, Any]]:
    return [
        {"t": (number + 1) * _PERIOD_S, "part": str(index), f"r{index}": value}
        for index, measurement in enumerate(own)
        for number, value in enumerate(measurement.document[series])
        if value > 0
    ]


def _since(rows: Sequence[dict[str, Any]]) -> charts.Spec:
    return charts.time_x([0, max((row["t"] for row in rows), default=1)], "time since the warm-up (s)")


def _nines() -> charts.Spec:
    labels = "{'0': '0 %', '1': '90 %', '2': '99 %', '3': '99.9 %', '4': '99.99 %', '5': '99.999 %'}[datum.value]"
    axis = {"values": list(range(int(_NINES_MAX) + 1)), "labelExpr": labels, "grid": True}
    return {**charts.time_x([0, _NINES_MAX], "percentile"), "axis": axis}


def _figure(id_: str, title: str, spec: charts.Spec) -> dict[str, Any]:
    return {"id": id_, "title": title, "spec": spec}
