"""The page that shows runs beside each other, on one time axis from the start of each load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.faults.readers import readers_of
from chaoskit.judge.timing.timing import Timing, faults_of, load_of
from chaoskit.report.compared import Compared, figures, labels, letter
from chaoskit.report.comparisons import PALETTE
from chaoskit.report.figures import charts
from chaoskit.report.figures.membership import READERS_TITLE, TITLE, lanes, reader_spans, spans
from chaoskit.report.figures.series import series_of
from chaoskit.report.page_file import write_page


def write_compared(runs: Sequence[Compared], out: Path) -> Path:
    """Write the page of some runs; return its path.

    Raises:
        BadInput: a run is damaged, the packages of chaoskit[report] are missing, or the file cannot be written.
    """
    from chaoskit.report.html import render  # noqa: PLC0415  # loads optional packages

    content = render(
        "compared.html.j2",
        title=f"{len(runs)} runs",
        runs=runs,
        colours=[_colour(index) for index in range(len(runs))],
        letters=[letter(index) for index in range(len(runs))],
        labels=labels(runs),
        groups=figures(runs),
        figures=_figures(runs),
    )
    write_page(out, content)
    return out


def _figures(runs: Sequence[Compared]) -> list[dict[str, Any]]:
    latency: list[dict[str, Any]] = []
    rates: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    members: list[dict[str, Any]] = []
    readers: list[dict[str, Any]] = []
    for index, run in enumerate(runs):
        history = History.open(run.folder)
        load = load_of(run.folder)
        series = series_of(history, Timing(load, faults_of(history.recorded_faults)))
        start_s = load.begin_ns / 1e9
        key = f"r{index}"
        latency += [{"t": round(row["t"] - start_s, 3), "part": f"{index}-{row['part']}", key: row["p99"]}
            for row in series.send]  # fmt: skip
        rates += [{"t": round(row["t"] - start_s, 3), "part": str(index), key: row["acked"]}
            for row in series.throughput]  # fmt: skip
        end_s = max((row["t"] for row in series.throughput), default=start_s)
        faults += [_lane(index, _span(fault, end_s), start_s) for fault in history.recorded_faults]
        during = [start_s, end_s]
        members += [_lane(index, span, start_s) for span in spans(history.placements, during)]
        read = readers_of(history, load.end_ns)
        readers += [_lane(index, span, start_s) for span in reader_spans(read, during)]
    names = {f"r{index}": (label, _colour(index)) for index, label in enumerate(labels(runs))}
    title = "time since the start of the load (s)"
    domain = [0.0, max((row["t"] for row in (*latency, *rates)), default=1.0)]
    tooltip = [charts.told(t="at s")[0], *({"field": key, "title": name} for key, (name, _) in names.items())]
    specs = []
    slowest = [{"p99": value} for row in latency for key, value in row.items() if key in names]
    due = "Send latency, p99 (ms), from when a message was due to its acknowledgement"
    log_axis = charts.log_y("p99 (ms)", slowest, ["p99"]) if slowest else {}
    for id_, heading, rows, axis in (
        ("send", due, latency, log_axis),
        ("throughput", "Acknowledged messages per second", rates, charts.value_y("messages/s")),
    ):
        if not rows:
            continue
        lines = charts.lines(rows, names, charts.time_x(domain, title), axis, tooltip)
        specs.append({"id": id_, "title": heading, "spec": charts.chart(heading, 230, lines)})
    for id_, heading, lane_rows in (
        ("faults", "Faults", faults),
        ("membership", TITLE, members),
        ("readers", READERS_TITLE, readers),
    ):
        if spec := lanes(lane_rows, domain, title):
            specs.append({"id": id_, "title": heading, "spec": spec})
    return specs


def _span(fault: Fault, end_s: float) -> dict[str, Any]:
    what = f"{fault.kind} on {', '.join(fault.targets) or 'nothing'}"
    healed_s = fault.healed_ns / 1e9 if fault.healed_ns is not None else end_s
    return {"name": what, "what": what, "from": fault.start_ns / 1e9, "to": healed_s, "opacity": 0.9}


def _lane(index: int, span: Mapping[str, Any], start_s: float) -> dict[str, Any]:
    """Return a span of a run on the common time axis, with the run's letter; a fault in its colour."""
    name = f"{letter(index)}: {span['name']}"
    times = {key: round(span[key] - start_s, 3) for key in ("from", "to")}
    return {"colour": _colour(index), **span, **times, "name": name}


def _colour(index: int) -> str:
    return PALETTE[index % len(PALETTE)]
