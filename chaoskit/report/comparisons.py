"""Charts that compare runs: by configuration, by fault, over time."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.report.figures.charts import BLUE, ORANGE, RED, Rows, Spec, chart, value_y

_LEGEND: Spec = {"orient": "top", "direction": "horizontal", "title": None}
PALETTE = (
    "#d1495b", "#3f88c5", "#e08a1e", "#3a9d6e", "#8e6bbf", "#8a8f98", "#c46fa5", "#5aa9a3", "#a3a83a", "#5b6bbf",
    "#9a6a43", "#2f8fa8",
)  # fmt: skip
_ROW = 30
_BAR, _FEW_BARS = 48, 8
"""Width of a bar where there are few, which would fill the page otherwise."""


def dots(rows: Rows, title: str | None, series: Sequence[str], colours: Sequence[str]) -> Spec:
    """Return latencies on a logarithmic axis, with one row per name and one dot per series.

    Args:
        rows: name, series, value (ms), what (shown in the tooltip).
        title: title of the names.
        series: series in the order of the legend.
        colours: their colours.
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    y = {
        "field": "name",
        "type": "nominal",
        "sort": names,
        "title": title,
        "axis": {"grid": True, "labelLimit": 150},
    }
    x = {
        "field": "value",
        "type": "quantitative",
        "title": "latency (ms)",
        "scale": {"type": "log", "nice": True},
        "axis": {"format": "~g", "labelOverlap": "greedy", "tickCount": 5},
    }
    tooltip = [
        {"field": "what", "title": "what"},
        {"field": "series", "title": "which"},
        {"field": "value", "title": "ms", "format": ",.4~r"},
    ]
    encoding = {"x": x, "y": y, "color": _colour(series, colours), "tooltip": tooltip}
    between = {
        "mark": {"type": "line", "color": "#8a8f98", "strokeWidth": 1, "opacity": 0.6},
        "encoding": {"x": x, "y": y, "detail": {"field": "name"}},
    }
    layers = [between, {"mark": {"type": "circle", "size": 90, "opacity": 0.95}, "encoding": encoding}]
    return chart("latency", _ROW * len(names), layers, data={"values": list(rows)})


def grouped_bars(rows: Rows, title: str, series: Sequence[str], colours: Sequence[str]) -> Spec:
    """Return bars side by side: rows of name, series, value."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    encoding = {
        "y": {"field": "name", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 150}},
        "yOffset": {"field": "series", "type": "nominal", "sort": list(series)},
        "x": {"field": "value", "type": "quantitative", "title": title, "axis": {"format": "~s", "tickCount": 5}},
        "color": _colour(series, colours),
        "tooltip": [{"field": "name"}, {"field": "series"}, {"field": "value", "title": title, "format": ",.0f"}],
    }
    bars = [{"mark": {"type": "bar", "cornerRadiusEnd": 2}, "encoding": encoding}]
    return chart(title, 54 * len(names), bars, data={"values": list(rows)})


def histogram(rows: Rows, names: Sequence[str], x_title: str, y_title: str) -> Spec:
    """Return counts by bin, stacked by series: rows of name (the bin), series, value."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(series))]
    encoding = {
        "x": {
            "field": "name",
            "type": "nominal",
            "sort": list(names),
            "scale": {"domain": list(names)},
            "title": x_title,
            "axis": {"labelAngle": -40, "labelOverlap": False},
        },
        "y": {**value_y(y_title), "field": "value", "stack": True},
        "color": _colour(series, colours),
        "tooltip": [
            {"field": "name", "title": "age"},
            {"field": "series", "title": "fault"},
            {"field": "value", "format": ","},
        ],
    }
    mark = {"type": "bar", **({"size": _BAR} if len(names) <= _FEW_BARS else {})}
    return chart(y_title, 230, [{"mark": mark, "encoding": encoding}], data={"values": list(rows)})


_VERDICTS = {"valid": BLUE, "unknown": ORANGE, "invalid": RED}


def trend(rows: Rows) -> Spec:
    """Return the p99 and the lost messages of runs over time, each in the colour of its verdict, regressions marked.

    Args:
        rows: t (ISO), p99_ms, acks_per_s, lost, run, verdict, marked.
    """
    x = {
        "field": "t",
        "type": "temporal",
        "title": "start of the run",
        "axis": {"labelOverlap": "greedy", "tickCount": {"signal": "max(2, min(8, floor(width/110)))"}, "grid": False},
    }
    y = {**value_y("send p99 (ms)"), "field": "p99_ms"}
    tooltip = [
        {"field": "run"},
        {"field": "verdict"},
        {"field": "p99_ms", "title": "p99 ms", "format": ",.4~r"},
        {"field": "acks_per_s", "title": "acknowledged /s", "format": ",.0f"},
        {"field": "lost", "title": "lost", "format": ","},
        {"field": "marked", "title": "regressions"},
    ]
    colour = {
        "field": "verdict",
        "scale": {"domain": list(_VERDICTS), "range": list(_VERDICTS.values())},
        "legend": _LEGEND,
        "title": None,
    }
    marked = {"filter": "datum.marked !== ''"}
    latencies: list[Spec] = [
        {"mark": {"type": "line", "color": BLUE, "strokeWidth": 1.2, "opacity": 0.5}, "encoding": {"x": x, "y": y}},
        {
            "mark": {"type": "circle", "size": 55, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
        },
        {
            "transform": [marked],
            "mark": {"type": "point", "shape": "triangle-down", "filled": True, "size": 140, "opacity": 1, "dy": -4},
            "encoding": {"x": x, "y": y, "color": {"value": RED}, "tooltip": tooltip},
        },
        {
            "transform": [marked],
            "mark": {"type": "text", "color": RED, "align": "right", "dx": 8, "dy": -14, "fontSize": 11},
            "encoding": {"x": x, "y": y, "text": {"field": "marked"}},
        },
    ]
    if not any(row["marked"] for row in rows):
        latencies = latencies[:2]
    if not any(row["lost"] for row in rows):
        return chart("trend", 190, latencies, data={"values": list(rows)})
    lost = {"field": "lost", "type": "quantitative", "title": "lost", "axis": {"orient": "right", "grid": False}}
    bars = {"mark": {"type": "bar", "color": RED, "opacity": 0.35, "width": 8}, "encoding": {"x": x, "y": lost}}
    layers: list[Spec] = [bars, {"layer": latencies}]
    return chart("trend", 190, layers, data={"values": list(rows)}, resolve={"scale": {"y": "independent"}})


def _colour(series: Sequence[str], colours: Sequence[str]) -> Spec:
    return {
        "field": "series",
        "type": "nominal",
        "sort": list(series),
        "scale": {"domain": list(series), "range": list(colours)},
        "legend": _LEGEND,
        "title": None,
    }
