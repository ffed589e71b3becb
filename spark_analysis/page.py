"""The HTML report of an analysis: tables and charts over many runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.report import comparisons
from chaoskit.report.figures import charts
from chaoskit.report.html import render
from spark_analysis.impact import AGE_EDGES_MS, PHASES
from spark_analysis.standing import ScenarioStanding
from spark_analysis.trends import VERDICT

Rows = Sequence[Mapping[str, Any]]

_RUNS_SHOWN = 500
_TREND_POINTS = 200
_TRENDS_SHOWN = 12
_NIGHTS_SHOWN = 14
_REGRESSIONS = {
    VERDICT: "verdict",
    "due_p99_ms": "p99",
    "acks_per_s": "acks/s",
    "lost": "lost",
    "longest_unavailable_ms": "unavailable",
    "recovered_after_heal_ms": "recovery",
}
"""Regressions in words."""
_POINTS = {"p50_ms": ("p50", charts.BLUE), "p99_ms": ("p99", charts.ORANGE), "p999_ms": ("p99.9", charts.RED)}
_PHASE_COLOURS = dict(zip(PHASES, (charts.BLUE, charts.RED, charts.GREEN), strict=True))


def page(
    tables: Mapping[str, Rows],
    skipped: Mapping[str, str],
    standings: Sequence[ScenarioStanding],
    links: Mapping[str, str],
) -> str:
    """Return the report.

    Args:
        tables: see `analyze.Analysed`.
        skipped: runs that could not be read, with the reason.
        standings: how each scenario with several runs stands.
        links: where the report of a run is, for each that has one.
    """
    runs = sorted(tables["runs"], key=lambda row: (row["time"], row["run"]), reverse=True)
    configurations = [{**row, "letter": letter(index)} for index, row in enumerate(tables["configurations"])]
    return render(
        "analysis.html.j2",
        ["spark_analysis"],
        title=f"{len(runs):,} runs",
        runs=[{**row, "found": _anomalies(row)} for row in runs[:_RUNS_SHOWN]],
        hidden=max(0, len(runs) - _RUNS_SHOWN),
        totals={name: sum(row["verdict"] == name for row in runs) for name in ("valid", "invalid", "unknown")},
        acked=sum(row["acked"] for row in runs),
        lost=sum(row["lost"] for row in runs),
        letters={row["configuration"]: row["letter"] for row in configurations},
        systems=[(name, _summed(own), own) for name, own in _grouped(configurations, "system")],
        kinds=tables["fault_kinds"],
        unavailable=_longest(tables["unavailable"]),
        regressions=[row for row in tables["trends"] if row["regressions"]],
        skipped=skipped,
        standings=standings,
        links=links,
        figures={
            "configurations": _figure(
                "configurations", "Send latency outside of faults, by configuration", _by_configuration(configurations)
            ),
            "kinds": _figure(
                "kinds", "Send latency before, during and after each kind of fault", _by_kind(tables["fault_kinds"])
            ),
            "throughput": _figure(
                "kinds-throughput", "Throughput before, during and after", _throughput(tables["fault_kinds"])
            ),
            "ages": _figure(
                "ages",
                "Lost messages by the time from their acknowledgement to the next fault",
                _ages(tables["lost_ages"]),
            ),
        },
        trends=[
            (standing, _figure(f"trend-{index}", standing.scenario, _trend(standing.runs[-_TREND_POINTS:])))
            for index, standing in enumerate(_shown(standings))
        ],
        nights=_NIGHTS_SHOWN,
        words=_REGRESSIONS,
    )


def _grouped(rows: Rows, by: str) -> list[tuple[str, Rows]]:
    """Return the rows that have the same in a column, in order of the first of each."""
    named: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        named.setdefault(row[by], []).append(row)
    return list(named.items())


def _summed(configurations: Rows) -> dict[str, int]:
    return {name: sum(row[name] for row in configurations) for name in ("runs", "valid", "invalid", "acked", "lost")}


def letter(index: int) -> str:
    """Return a short name for a configuration.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    return (letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _figure(name: str, title: str, spec: charts.Spec | None) -> dict[str, Any] | None:
    return None if spec is None else {"id": name, "title": title, "spec": spec}


def _anomalies(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the anomalies of a run, disallowed ones first."""
    rows = [{"name": name, "count": count, "bad": name in row["disallowed"]} for name, count in row["anomalies"]]
    rows += [
        {"name": name, "count": 0, "bad": True} for name in row["disallowed"] if name not in dict(row["anomalies"])
    ]
    return sorted(rows, key=lambda anomaly: (not anomaly["bad"], -anomaly["count"]))


def _longest(rows: Rows) -> list[dict[str, Any]]:
    longest = sorted(rows, key=lambda row: row["start_ns"] - row["end_ns"])[:10]
    return [{**row, "seconds": (row["end_ns"] - row["start_ns"]) / 1e9} for row in longest]


def _by_configuration(rows: Rows) -> charts.Spec | None:
    points = [
        {"name": row["letter"], "series": name, "value": row[field], "what": row["configuration"]}
        for row in rows
        for field, (name, _) in _POINTS.items()
        if row[field] is not None
    ]
    order = [name for name, _ in _POINTS.values()]
    colours = [colour for _, colour in _POINTS.values()]
    return comparisons.dots(points, "configuration", order, colours) if points else None


def _by_kind(rows: Rows) -> charts.Spec | None:
    points = [
        {
            "name": f"{row['kind']}, {row['system']}, {name}",
            "series": row["phase"],
            "value": row[field],
            "what": f"{name} {row['phase']} {row['kind']} of {row['system']}",
        }
        for row in rows
        for field, (name, _) in _POINTS.items()
        if row[field] is not None
    ]
    return comparisons.dots(points, None, PHASES, list(_PHASE_COLOURS.values())) if points else None


def _throughput(rows: Rows) -> charts.Spec | None:
    bars = [
        {"name": f"{row['kind']}, {row['system']}", "series": row["phase"], "value": row["acked_per_s"]} for row in rows
    ]
    return (
        comparisons.grouped_bars(bars, "acknowledged (messages/s)", PHASES, list(_PHASE_COLOURS.values()))
        if bars
        else None
    )


def _ages(rows: Rows) -> charts.Spec | None:
    counted: dict[tuple[int, str], int] = {}
    for row in rows:
        if row["kind"] is not None:
            key = AGE_EDGES_MS.index(int(row["from_ms"])), row["kind"]
            counted[key] = counted.get(key, 0) + row["count"]
    if not counted:
        return None
    labels = [_age(index) for index in range(len(AGE_EDGES_MS))]
    used = range(min(index for index, _ in counted), max(index for index, _ in counted) + 1)
    bars = [{"name": labels[index], "series": kind, "value": count} for (index, kind), count in sorted(counted.items())]
    return comparisons.histogram(
        bars, [labels[index] for index in used], "time from acknowledgement to the next fault", "lost messages"
    )


def _age(index: int) -> str:
    """Return an age bin in words.

    >>> _age(0), _age(7), _age(11)
    ('0-1 ms', '1-3 s', '≥ 100 s')
    """
    first = AGE_EDGES_MS[index]
    if index + 1 == len(AGE_EDGES_MS):
        return f"≥ {first // 1000} s"
    last = AGE_EDGES_MS[index + 1]
    if last > 1000:
        return f"{first / 1000:g}-{last / 1000:g} s"
    return f"{first}-{last} ms"


def _shown(standings: Sequence[ScenarioStanding]) -> Sequence[ScenarioStanding]:
    """Return the scenarios whose trends are shown: what is not valid first, then what has regressions, then what ran
    most often."""

    def order(standing: ScenarioStanding) -> tuple[bool, int, int]:
        regressions = sum(bool(row["regressions"]) for row in standing.runs)
        return standing.first_bad is None, -regressions, -len(standing.runs)

    return sorted(standings, key=order)[:_TRENDS_SHOWN]


def _trend(rows: Rows) -> charts.Spec | None:
    points = [
        {
            "t": row["time"].isoformat(),
            "p99_ms": row["due_p99_ms"],
            "acks_per_s": row["acks_per_s"],
            "lost": row["lost"],
            "run": row["run"],
            "verdict": row["verdict"],
            "marked": ", ".join(
                row["verdict"] if name == VERDICT else _REGRESSIONS[name] for name in row["regressions"]
            ),
        }
        for row in rows
        if row["due_p99_ms"] is not None
    ]
    return comparisons.trend(points) if points else None
