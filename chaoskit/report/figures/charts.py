"""Charts as Vega-Lite specifications. The page, light or dark, sets the colours of text and lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Rows = Sequence[Any]
Spec = dict[str, Any]

BLUE, ORANGE, RED, GREEN, GREY = "#3f88c5", "#e08a1e", "#d1495b", "#3a9d6e", "#8a8f98"
OF_RUN = "time since the start of the run (s)"
_AXIS_WIDTH = 52
_TITLED = _AXIS_WIDTH + 15
"""Width of an axis including its title."""


def chart(title: str, height: int, layers: Sequence[Spec], **more: Any) -> Spec:
    """Return a chart that fills the width of its container."""
    return {
        "description": title,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": list(layers),
        **more,
    }


def time_x(domain: Sequence[float], title: str = OF_RUN) -> Spec:
    """Return an x axis in seconds that several charts share."""
    return {
        "field": "t",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(domain), "nice": False, "zero": False},
        "axis": {"tickCount": {"signal": "max(3, min(12, floor(width/80)))"}, "grid": False, "labelFlush": True},
    }


def size_x(sizes: Sequence[int]) -> Spec:
    """Return a logarithmic x axis of sizes in bytes, with a mark at each of them."""
    words = {2**20: "MiB", 2**10: "KiB", 1: "B"}
    labels = " : ".join(f"datum.value >= {size} ? datum.value / {size} + ' {word}'" for size, word in words.items())
    return {
        **time_x([min(sizes), max(sizes)], "payload"),
        "scale": {"type": "log", "domain": [min(sizes), max(sizes)], "nice": False},
        "axis": {"values": list(sizes), "labelExpr": f"{labels} : ''", "grid": False, "labelFlush": True},
    }


def value_y(title: str) -> Spec:
    """Return a y axis that starts at zero. All have the same width, so that stacked charts line up."""
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": True, "nice": True},
        "axis": {"minExtent": _AXIS_WIDTH, "maxExtent": _AXIS_WIDTH, "tickCount": 5, "format": "~s"},
    }


def log_y(title: str, rows: Rows, fields: Sequence[str]) -> Spec:
    """Return a logarithmic y axis over the positive values of some fields, with a line at each power of ten."""
    values = [row[field] for row in rows for field in fields]
    lowest, highest = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    powers = [10.0**power for power in range(lowest, max(highest, lowest + 1) + 1)]
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": [powers[0], powers[-1]]},
        "axis": {"minExtent": _AXIS_WIDTH, "maxExtent": _AXIS_WIDTH, "values": powers, "format": "~g"},
    }


def bands(faults: Rows, domain: Sequence[float], *, labels: bool) -> list[Spec]:
    """Return layers that shade faults: lightly from their start, darker from their proved effect to its end.

    Args:
        faults: rows with kind, start, effective, healed (s; end of the axis if it was not healed), what.
        domain: domain of the time axis.
        labels: whether to label them at the top.
    """
    if not faults:
        return []
    x = {**time_x(domain), "field": "start"}
    tooltip = [
        {"field": "what", "title": "fault"},
        *_seconds(start="began at s", effective="effective at s", healed="healed at s"),
    ]
    full = {"y": {"value": 0}, "y2": {"value": {"expr": "height"}}}
    layers: list[Spec] = [
        {
            "name": f"fault-band-{name}",
            "data": {"values": list(faults)},
            "mark": {
                "type": "rect",
                "color": RED,
                "opacity": opacity,
                "clip": True,
                "ariaRoleDescription": "fault band",
            },
            "encoding": {"x": {**x, "field": name}, "x2": {"field": "healed"}, **full, "tooltip": tooltip},
        }
        for name, opacity in (("start", 0.08), ("effective", 0.10))
    ]
    if labels and any(row["label"] for row in faults):
        layers.append(
            {
                "data": {"values": [row for row in faults if row["label"]]},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "top",
                    "dx": 3,
                    "dy": 3,
                    "color": RED,
                    "fontSize": 11,
                },
                "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "label"}},
            }
        )
    return layers


def area(rows: Rows, colour: str, x: Spec, y: Spec, tooltip: Sequence[Spec]) -> list[Spec]:
    """Return a filled area over time: rows with `t` and `rate`; nothing without rows."""
    if not rows:
        return []
    mark = {"type": "area", "color": colour, "opacity": 0.75, "interpolate": "step-after", "clip": True}
    encoding = {"x": x, "y": {**y, "field": "rate"}, "tooltip": list(tooltip)}
    return [{"data": {"values": list(rows)}, "mark": mark, "encoding": encoding}]


def lines(rows: Rows, series: dict[str, tuple[str, str]], x: Spec, y: Spec, tooltip: Sequence[Spec]) -> list[Spec]:
    """Return lines over time, with a rule under the pointer that shows their values.

    Args:
        rows: rows with `t` and the fields of `series`; a field may be missing. No line joins rows whose `part`
            differs, if they have one.
        series: name in the legend and colour, by field.
        x, y: the axes.
        tooltip: entries of the tooltip.
    """
    names, colours = [name for name, _ in series.values()], [colour for _, colour in series.values()]
    # Set explicitly: otherwise the title of the layers' shared axis lists all fields.
    fold = {
        "fold": list(series),
        "as": ["field", "value"],
    }
    label = " : ".join(f"datum.field === '{field}' ? '{name}'" for field, (name, _) in series.items()) + " : ''"
    transform = [fold, {"filter": "isValid(datum.value)"}, {"calculate": label, "as": "series"}]
    colour = {
        "field": "series",
        "type": "nominal",
        "title": None,
        "sort": names,
        "scale": {"domain": names, "range": colours},
        "legend": {"orient": "top", "direction": "horizontal", "symbolType": "stroke", "symbolStrokeWidth": 3},
    }
    return [
        {
            "data": {"values": list(rows)},
            "transform": transform,
            "mark": {"type": "line", "strokeWidth": 1.6, "strokeCap": "round", "clip": True},
            "encoding": {"x": x, "y": {**y, "field": "value"}, "color": colour, "detail": {"field": "part"}},
        },
        {
            "data": {"values": list(rows)},
            "params": [
                {
                    "name": "hover",
                    "select": {
                        "type": "point",
                        "fields": ["t"],
                        "nearest": True,
                        "on": "pointerover",
                        "clear": "pointerout",
                    },
                }
            ],
            "mark": {"type": "rule", "color": GREY, "strokeWidth": 1},
            "encoding": {
                "x": x,
                "opacity": {"condition": {"param": "hover", "empty": False, "value": 1}, "value": 0},
                "tooltip": list(tooltip),
            },
        },
    ]


def events(rows: Rows, spans: Rows, order: Sequence[str], domain: Sequence[float], title: str = OF_RUN) -> Spec:
    """Return a timeline of events: one row per name, labelled above.

    Args:
        rows: name, t, n: number of occurrences in a bin.
        spans: name, from, to, colour, what: intervals of time.
        order: names from top to bottom.
        domain: domain of the time axis.
        title: its title.
    """
    x, y = time_x(domain, title), _named_rows(order)
    seen = [{"field": "name", "title": "what"}, *_seconds(t="at s"), {"field": "n", "title": "count", "format": ","}]
    layers: list[Spec] = [
        {
            "data": {"values": list(spans)},
            "mark": {"type": "bar", "height": 9, "yOffset": 6, "cornerRadius": 2, "clip": True},
            "encoding": {
                "x": {**x, "field": "from"},
                "x2": {"field": "to"},
                "y": y,
                "color": {"field": "colour", "type": "nominal", "scale": None},
                "opacity": {"field": "opacity", "type": "quantitative", "scale": None},
                "tooltip": [{"field": "what", "title": "what"}, *_seconds(**{"from": "from s", "to": "to s"})],
            },
        },
        {
            "data": {"values": list(rows)},
            "mark": {"type": "circle", "yOffset": 6, "opacity": 0.85, "clip": True},
            "encoding": {
                "x": x,
                "y": y,
                "size": {
                    "field": "n",
                    "type": "quantitative",
                    "legend": None,
                    "scale": {"type": "log", "range": [25, 160]},
                },
                "color": {"value": ORANGE},
                "tooltip": seen,
            },
        },
        {
            "data": {"values": [{"name": name} for name in order]},
            "mark": {"type": "text", "align": "left", "baseline": "middle", "dy": -8, "fontSize": 11, "x": 4},
            "encoding": {"y": y, "text": {"field": "name"}},
        },
    ]
    filled = [layer for layer in layers if layer["data"]["values"]]
    return chart("timeline of events", 34 * len(order), filled)


def _named_rows(order: Sequence[str]) -> Spec:
    return {
        "field": "name",
        "type": "nominal",
        "sort": list(order),
        "axis": {
            "labels": False,
            "ticks": False,
            "title": None,
            "minExtent": _TITLED,
            "maxExtent": _TITLED,
            "grid": True,
        },
        "scale": {"domain": list(order), "paddingInner": 0.1},
    }


def told(**titles: str) -> list[Spec]:
    """Return tooltip entries; numbers have four significant digits."""
    return [{"field": name, "title": title, "format": ",.4~r"} for name, title in titles.items()]


def _seconds(**titles: str) -> list[Spec]:
    return [{"field": name, "title": title, "format": ",.2f"} for name, title in titles.items()]
