"""The page of systems beside each other: round trips, throughput, and what became of messages, with charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.quantities import format_size
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.report.comparisons import PALETTE, dots, grouped_bars
from chaoskit.report.figures import charts
from chaoskit.report.page_file import write_page
from chaoskit.report.side_by_side import RoundTrip, SideBySide, SystemFate

_SHOWN = ("p50", "p99", "published")
_SHOWN_COLOURS = (charts.BLUE, charts.ORANGE, charts.GREY)


def write_side_by_side(name: str, comparison: SideBySide, out: Path) -> None:
    """Write the page.

    Args:
        name: of the sweep.
        comparison: what is told.
        out: the file.

    Raises:
        BadInput: the packages of chaoskit[report] are missing, or the file cannot be written.
    """
    from chaoskit.report.html import render  # noqa: PLC0415  # loads optional packages

    figures = [*_smallest(comparison.round_trips), *_by_payload(comparison), *_gone(comparison.fates)]
    content = render("side_by_side.html.j2", title=name, found=comparison, figures=figures, size=format_size)
    write_page(out, content)


def _smallest(trips: Sequence[RoundTrip]) -> list[dict[str, Any]]:
    """Return half the round trips of the smallest messages, beside the published ones."""
    if not trips:
        return []
    smallest = min(trip.payload for trip in trips)
    rows = [
        {"name": trip.name, "series": series, "value": value / 1e3, "what": f"{trip.name}, {series}"}
        for trip in trips
        if trip.payload == smallest
        for series, value in zip(_SHOWN, (trip.p50_us, trip.p99_us, trip.published_us), strict=True)
        if value is not None
    ]
    title = f"Half a round trip, {format_size(smallest)}"
    return [{"id": "smallest", "title": title, "spec": dots(rows, None, _SHOWN, _SHOWN_COLOURS)}] if rows else []


def _by_payload(comparison: SideBySide) -> list[dict[str, Any]]:
    trips = {(trip.name, trip.payload): trip.p50_us / 1e3 for trip in comparison.round_trips if trip.p50_us is not None}
    messages = {
        (throughput.name, throughput.payload): throughput.messages_per_s for throughput in comparison.throughputs
    }
    volumes = {
        (throughput.name, throughput.payload): throughput.bytes_per_s / 1e6 for throughput in comparison.throughputs
    }
    figures = (
        ("trips", "Half a round trip, p50, by payload", "ms", trips),
        ("messages", "Messages received a second, by payload", "messages/s", messages),
        ("volumes", "Volume received a second, by payload", "MB/s", volumes),
    )
    names = list(dict.fromkeys([*(name for name, _ in trips), *(name for name, _ in messages)]))
    colours = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(names)}
    return [
        {"id": id_, "title": title, "spec": _lines(title, unit, values, colours)}
        for id_, title, unit, values in figures
        if len({payload for (_, payload), value in values.items() if value > 0}) > 1
    ]


def _gone(fates: Sequence[SystemFate]) -> list[dict[str, Any]]:
    """Return how many of the acknowledged messages a subscriber lacks, by system and load."""
    title = "Messages that a subscriber lacks, % of those that were acknowledged"
    names = installed.gone(*Gone)
    rows = [
        {
            "name": fate.name,
            "series": fate.load,
            "value": 100 * sum(count for name, count in fate.found.items() if name in names) / fate.acked,
        }
        for fate in fates
        if fate.acked
    ]
    loads = list(dict.fromkeys(fate.load for fate in fates))
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(loads))]
    return [{"id": "gone", "title": title, "spec": grouped_bars(rows, title, loads, colours)}] if rows else []


def _lines(title: str, unit: str, values: Mapping[tuple[str, int], float], colours: Mapping[str, str]) -> charts.Spec:
    """Return a chart of values by payload, with a line for each system; both axes are logarithmic."""
    shown = {key: value for key, value in values.items() if value > 0}
    names = list(dict.fromkeys(name for name, _ in shown))
    series = {f"r{index}": (name, colours[name]) for index, name in enumerate(names)}
    sizes = sorted({payload for _, payload in shown})
    rows = [
        {"t": size, **{key: shown[name, size] for key, (name, _) in series.items() if (name, size) in shown}}
        for size in sizes
    ]
    y = charts.log_y(unit, [{"value": value} for value in shown.values()], ["value"])
    tooltip = [*charts.told(t="bytes"), *charts.told(**{key: name for key, (name, _) in series.items()})]
    return charts.chart(title, 260, charts.lines(rows, series, charts.size_x(sizes), y, tooltip))
