"""The charts of a run, on one time axis: what was sent and acknowledged, faults, anomalies, latencies, members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.judge.faults.readers import Readers
from chaoskit.report.figures import charts, membership
from chaoskit.report.figures.series import Axis, Series

_LABELS_MAX = 8
_GONE = "no send acknowledged"
_USUAL = 0.9
"""So many of the bins have a usual rate, at most."""


def bands(faults: Sequence[Fault], series: Series) -> list[dict[str, Any]]:
    """Return the faults as rows with the times, in seconds, between which charts are shaded."""
    end_s = (series.axis.start_ns + series.axis.count * series.axis.bin_ns) / 1e9
    labels = len(faults) <= _LABELS_MAX
    rows, previous = [], ""
    for fault in sorted(faults, key=lambda fault: fault.start_ns):
        start = fault.start_ns / 1e9
        rows.append(
            {
                "kind": fault.kind,
                "what": f"{fault.kind} on {', '.join(fault.targets)}" if fault.targets else fault.kind,
                "label": fault.kind if labels and fault.kind != previous else "",
                "start": start,
                "effective": fault.effective_ns / 1e9 if fault.effective_ns is not None else start,
                "healed": fault.healed_ns / 1e9 if fault.healed_ns is not None else end_s,
            }
        )
        previous = fault.kind
    return rows


def figures(
    series: Series,
    faults: list[dict[str, Any]],
    anomalies: list[dict[str, Any]],
    placements: Placements,
    readers: Sequence[Readers],
) -> list[dict[str, Any]]:
    """Return the charts that have something to show, each with its title."""
    domain = domain_of(series.axis)
    send = "Send latency, from when a message was due to its acknowledgement"
    end_to_end = "End-to-end latency, from when a message was due to its receipt"
    figures = [
        ("send", send, _latency(series.send, faults, domain)),
        ("events", "Faults, unavailability and anomalies", _events(series, faults, anomalies, domain)),
        ("membership", membership.TITLE, membership.lanes(membership.spans(placements, domain), domain)),
        ("readers", membership.READERS_TITLE, membership.lanes(membership.reader_spans(readers, domain), domain)),
        ("end-to-end", end_to_end, _latency(series.end_to_end, faults, domain)),
    ]
    return [{"id": name, "title": title, "spec": spec} for name, title, spec in figures if spec is not None]


def domain_of(axis: Axis) -> list[float]:
    """Return the first and the last second of a time axis."""
    return [axis.start_ns / 1e9, (axis.start_ns + axis.count * axis.bin_ns) / 1e9]


def _latency(rows: list[dict[str, float]], faults: list[dict[str, Any]], domain: list[float]) -> charts.Spec | None:
    if not rows:
        return None
    points = {"p50": ("p50", charts.BLUE), "p99": ("p99", charts.ORANGE), "max": ("max", charts.RED)}
    tooltip = charts.told(t="at s", p50="p50 ms", p99="p99 ms", max="max ms", n="messages")
    y = charts.log_y("latency (ms)", rows, list(points))
    lines = charts.lines(rows, points, charts.time_x(domain), y, tooltip)
    return charts.chart("latency", 230, [*charts.bands(faults, domain, labels=True), *lines])


def strip(
    series: Series, faults: list[dict[str, Any]], anomalies: list[dict[str, Any]], domain: list[float]
) -> dict[str, Any]:
    """Return what one looks at first: faults, what was due and acknowledged, and what of that was lost."""
    rates = {"due": ("sends due", charts.GREY), "acked": ("acknowledged", charts.GREEN)}
    tooltip = charts.told(t="at s", due="due /s", acked="acknowledged /s")
    x, y = charts.time_x(domain), charts.value_y("messages/s")
    y["scale"] = {**y["scale"], "nice": False, "domainMax": _without_bursts(series.throughput)}
    lines = charts.lines(series.throughput, rates, x, y, tooltip)
    lost = charts.area(_lost_rates(anomalies, series.axis), charts.RED, x, y, charts.told(t="at s", rate="lost /s"))
    spec = charts.chart("throughput", 130, [*charts.bands(faults, domain, labels=True), *lost, *lines])
    title = "Messages sent, acknowledged and (red) lost, by time of acknowledgement; faults are shaded, bursts cut off"
    return {"id": "throughput", "title": title, "spec": spec}


def _without_bursts(rates: list[dict[str, float]]) -> float:
    """Return the highest rate that a chart shows: what waited under a fault may be acknowledged in one burst, which
    would make all else flat."""
    known = sorted(max(row["due"], row["acked"]) for row in rates)
    return max(min(known[-1], 2 * known[int(len(known) * _USUAL)]), 1.0) if known else 1.0


def _lost_rates(anomalies: list[dict[str, Any]], axis: Axis) -> list[dict[str, float]]:
    """Return the messages that are gone per second, by bin, with empty bins around them; one that is found under
    several anomalies of loss counts once."""
    names = {kind: installed.gone(kind) for kind in (Gone.LOST, Gone.VANISHED, Gone.EXPIRED, Gone.DROPPED)}
    counts: dict[float, dict[Gone, int]] = {}
    for row in anomalies:
        for kind in (kind for kind, known in names.items() if row["name"] in known):
            of_bin = counts.setdefault(row["t"], {})
            of_bin[kind] = max(of_bin.get(kind, 0), row["n"])
    if not counts:
        return []
    per_second = 1e9 / axis.bin_ns
    return [{"t": t, "rate": sum(counts.get(t, {}).values()) * per_second} for t in axis.seconds()]


def _events(
    series: Series, faults: list[dict[str, Any]], anomalies: list[dict[str, Any]], domain: list[float]
) -> charts.Spec | None:
    stretches = (("start", "effective", 0.4), ("effective", "healed", 0.9))
    spans = [
        {"name": row["kind"], "from": row[first], "to": row[last], "what": row["what"]}
        | {"colour": charts.RED, "opacity": opacity}
        for row in faults
        for first, last, opacity in stretches
    ]
    spans += [
        {"name": _GONE, **gap, "what": f"{gap['partition']}: {gap['to'] - gap['from']:.2f} s without one"}
        | {"colour": charts.GREY, "opacity": 1}
        for gap in series.unavailable
    ]
    names = [*(row["name"] for row in spans), *(row["name"] for row in anomalies)]
    return charts.events(anomalies, spans, list(dict.fromkeys(names)), domain) if names else None
