"""The table of a sweep: for each cell, how many runs showed an anomaly, and an upper bound of its rate.

A run is conclusive for an anomaly if its final read was complete and every fault took effect, or if it showed the
anomaly anyway. If `k` of `n` conclusive runs showed it, the true rate is below the exact one-sided Clopper-Pearson
bound with 95 % confidence; if none did, the bound is 1 - 0.05 ** (1 / n).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median
from typing import Any

from scipy.special import betaincinv

from chaoskit.judge.faults.at_stake import nothing_at_stake
from chaoskit.judge.timing.machine import full
from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID
from chaoskit.report.markdown import table
from chaoskit.search.sweep import Cell, Results, Sweep

CONFIDENCE = 0.95


def upper_bound(seen: int, runs: int) -> float:
    """Return the upper bound of the true rate, with `CONFIDENCE`, if `seen` of `runs` runs showed the anomaly.

    >>> round(upper_bound(0, 10), 3), upper_bound(3, 3), upper_bound(0, 0)
    (0.259, 1.0, 1.0)
    """
    return 1.0 if seen == runs else float(betaincinv(seen + 1, runs - seen, CONFIDENCE))


def document(sweep: Sweep, by_cell: Mapping[str, Results]) -> dict[str, Any]:
    """Return the table as JSON values, one row per cell."""
    return {
        "sweep": sweep.name,
        "confidence": CONFIDENCE,
        "cells": [_row(sweep, cell, by_cell) for cell in sweep.cells],
    }


def worst(sweep: Sweep, by_cell: Mapping[str, Results]) -> str:
    """Return the worst verdict of all runs; a run that is missing or failed counts as unknown."""
    verdicts = {verdict["verdict"] for results in by_cell.values() for verdict in results.verdicts.values()}
    if INVALID in verdicts:
        return INVALID
    complete = all(len(by_cell[cell.name].verdicts) == len(cell.plans) for cell in sweep.cells)
    return VALID if complete and verdicts <= {VALID} else UNKNOWN


def header(sweep: Sweep) -> list[str]:
    """Return the column titles of the table."""
    counted = [f"{name}: runs, total" for name in sweep.count]
    figures = ["quiet p50", "quiet p99", "p99 under faults", "acks/s", "machine full"]
    return [*sweep.axes, "system", "runs", *counted, *figures, "verdicts"]


def rows(content: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the table's rows as text, from `document`."""
    for cell in content["cells"]:
        done = f"{cell['runs']} of {cell['wanted']}"
        yield [
            *cell["variants"],
            cell["system"],
            f"{done}, {cell['broken']} failed" if cell["broken"] else done,
            *(_counted(anomaly) for anomaly in cell["anomalies"].values()),
            *(_figure(cell[name], unit) for name, unit in _FIGURES),
            f"{cell['full']} of {cell['runs']}" if cell["full"] else "",
            ", ".join(f"{count} {name}" for name, count in cell["verdicts"].items()),
        ]


def markdown(sweep: Sweep, content: Mapping[str, Any]) -> str:
    """Return the table in Markdown, with a legend."""
    return "\n".join([f"# {sweep.name}", "", *table(header(sweep), rows(content)), "", *LEGEND, ""])


LEGEND = (
    "Anomalies: number of runs that showed it, out of the conclusive runs (final read complete, every fault",
    "effective, something at stake), and the total number of findings. If no run showed it: upper bound of the rate",
    "of such runs, with 95 % confidence (Clopper-Pearson). Of findings that last, the longest time.",
    "Latency: median over the runs, of all sends, from when they were due; those that were never acknowledged count",
    "until they were given up; quiet: outside faults and their aftermath. acks/s: mean over the runs, until the end of",
    "the load. Machine full: in how many of the runs this machine, or one of its clients, was at its limit:",
    "figures may not be those of the system.",
)


def _row(sweep: Sweep, cell: Cell, by_cell: Mapping[str, Results]) -> dict[str, Any]:
    results = by_cell[cell.name]
    verdicts = list(results.verdicts.values())
    names = [verdict["verdict"] for verdict in verdicts]
    rates = [verdict["rates"]["acks_per_s"] for verdict in verdicts]
    return {
        "cell": cell.name,
        "variants": list(cell.variants),
        "system": cell.plan.release,
        "wanted": len(cell.plans),
        "runs": len(verdicts),
        "broken": len(results.broken),
        "verdicts": {name: names.count(name) for name in (VALID, INVALID, UNKNOWN) if name in names},
        "anomalies": {name: _anomaly(name, verdicts) for name in sweep.count},
        "p50_ms": _median(verdicts, "quiet", "p50_ms"),
        "p99_ms": _median(verdicts, "quiet", "p99_ms"),
        "under_faults_p99_ms": _median(verdicts, "under_faults", "p99_ms"),
        "acks_per_s": mean(rates) if rates else None,
        "full": sum(any(full(machine)) for verdict in verdicts if (machine := verdict.get("machine")) is not None),
        "run_folders": {seed: verdict["run"] for seed, verdict in sorted(results.verdicts.items())},
    }


_FIGURES = (("p50_ms", " ms"), ("p99_ms", " ms"), ("under_faults_p99_ms", " ms"), ("acks_per_s", ""))
"""Figures of a cell, each with its unit."""


def _median(verdicts: Sequence[Mapping[str, Any]], phase: str, percentile: str) -> float | None:
    """Return the median over the runs of a latency in a part of the load; None if no run has one."""
    sends = [verdict["latency"].get(phase, {}).get("send", {}) for verdict in verdicts]
    points = [send.get("all_due") or send for send in sends]
    values = [point[percentile] for point in points if point.get(percentile) is not None]
    return median(values) if values else None


def _anomaly(name: str, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = [verdict["anomalies"].get(name, {}).get("count", 0) for verdict in verdicts]
    telling = [count for count, verdict in zip(counts, verdicts, strict=True) if count or proves(verdict)]
    seen = sum(count > 0 for count in telling)
    bound = upper_bound(seen, len(telling))
    entries = [verdict["anomalies"][name] for verdict in verdicts if name in verdict["anomalies"]]
    lasted = [entry["lasted_ms"] for entry in entries if "lasted_ms" in entry]
    return {
        "runs": len(telling),
        "seen": seen,
        "total": sum(counts),
        "rate_at_most": round(bound, 6),
        **({"lasted_ms": _lasted(lasted)} if lasted else {}),
    }


def _lasted(lasted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the median over the runs of their medians, and the longest of all, milliseconds; also by detail."""
    by_detail: dict[str, list[Mapping[str, Any]]] = {}
    for one in lasted:
        for detail, of_detail in one["by_detail"].items():
            by_detail.setdefault(detail, []).append(of_detail)
    return {
        **_median_and_longest(lasted),
        "by_detail": {
            detail: {"count": sum(one["count"] for one in own), **_median_and_longest(own)}
            for detail, own in sorted(by_detail.items())
        },
    }


def _median_and_longest(lasted: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {"p50": median(one["p50"] for one in lasted), "max": max(one["max"] for one in lasted)}


def proves(verdict: Mapping[str, Any]) -> bool:
    """Return whether a run tells of what it did not find: its final read was complete, every fault took effect, and
    something was at stake."""
    faults = verdict["faults"]
    return (
        verdict["audit"]["complete"]
        and all(fault["effective"] for fault in faults)
        and not any(nothing_at_stake(faults))
    )


def _counted(anomaly: Mapping[str, Any]) -> str:
    if anomaly["seen"]:
        lasted_ms = anomaly.get("lasted_ms")
        lasted = f"; {lasted_ms['max']:,.0f} ms at most" if lasted_ms else ""
        return f"{anomaly['seen']} of {anomaly['runs']}, {anomaly['total']:,}{lasted}"
    return f"0 of {anomaly['runs']} (<= {anomaly['rate_at_most']:.1%})" if anomaly["runs"] else "-"


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:,.1f}{unit}" if unit else f"{value:,.0f}"
