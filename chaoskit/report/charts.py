"""Charts as Vega-Lite specifications. Colours of text and lines come from the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Rows = Sequence[Any]
Spec = dict[str, Any]

BLUE, ORANGE, RED, GREEN, GREY = "#3f88c5", "#e08a1e", "#d1495b", "#3a9d6e", "#8a8f98"
_AXIS_WIDTH = 52
_TITLED = _AXIS_WIDTH + 15
"""Width of an axis together with its title."""


def chart(title: str, height: int, layers: Sequence[Spec], **more: Any) -> Spec:
    """Return a chart as wide as its place on the page."""
    return {
        "description": title,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": list(layers),
        **more,
    }


def time_x(domain: Sequence[float], title: str = "time since the start of the run (s)") -> Spec:
    """Return an x axis of seconds that several charts share."""
    return {
        "field": "t",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(domain), "nice": False, "zero": False},
        "axis": {"tickCount": {"signal": "max(3, min(12, floor(width/80)))"}, "grid": False, "labelFlush": True},
    }


def value_y(title: str) -> Spec:
    """Return a y axis from zero on; all are of one width, so that charts below each other line up."""
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": True, "nice": True},
        "axis": {"minExtent": _AXIS_WIDTH, "maxExtent": _AXIS_WIDTH, "tickCount": 5, "format": "~s"},
    }


def log_y(title: str, rows: Rows, fields: Sequence[str]) -> Spec:
    """Return a logarithmic y axis over the positive values of some fields, a line at each power of ten."""
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
    """Return layers that shade faults: lightly from their start, more from their proved effect to its end.

    Args:
        faults: rows with kind, start, effective, healed (s; end of the axis where it was not healed), what.
        domain: of the time axis.
        labels: whether to name them above.
    """
    if not faults:
        return []
    x = {**time_x(domain), "field": "start"}
    told = [
        {"field": "what", "title": "fault"},
        *_seconds(start="begun at s", effective="effective at s", healed="healed at s"),
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
            "encoding": {"x": {**x, "field": name}, "x2": {"field": "healed"}, **full, "tooltip": told},
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


def lines(rows: Rows, series: dict[str, tuple[str, str]], x: Spec, y: Spec, tooltip: Sequence[Spec]) -> list[Spec]:
    """Return lines over time with a rule under the pointer that tells their values.

    Args:
        rows: with `t` and the fields of `series`; a field may be missing.
        series: by field, its name in the legend and its colour.
        x, y: the axes.
        tooltip: what the rule tells.
    """
    names, colours = [name for name, _ in series.values()], [colour for _, colour in series.values()]
    # Stated by hand: shared axes of layers would be titled with a list of all fields.
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
            "mark": {"type": "line", "strokeWidth": 1.6, "clip": True},
            "encoding": {"x": x, "y": {**y, "field": "value"}, "color": colour},
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


def events(rows: Rows, spans: Rows, order: Sequence[str], domain: Sequence[float]) -> Spec:
    """Return what happened when: a row for each name, its name above it.

    Args:
        rows: name, t, n: how many came about in a bin.
        spans: name, from, to, colour, what: stretches of time.
        order: names from top to bottom.
        domain: of the time axis.
    """
    x, y = time_x(domain), _named_rows(order)
    seen = [{"field": "name", "title": "what"}, *_seconds(t="at s"), {"field": "n", "title": "how many", "format": ","}]
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
    return chart("what happened when", 34 * len(order), filled)


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
    """Return tooltip entries, numbers with four digits that count."""
    return [{"field": name, "title": title, "format": ",.4~r"} for name, title in titles.items()]


def _seconds(**titles: str) -> list[Spec]:
    return [{"field": name, "title": title, "format": ",.2f"} for name, title in titles.items()]
