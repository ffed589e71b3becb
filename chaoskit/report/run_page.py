"""The report of one run: verdict, load and faults, anomalies, and charts on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base import durable, owner, store
from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.history.compacting.manifest import JUDGED, RECORDED, verify
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History, group_sizes
from chaoskit.judge.faults.consequence_words import in_words, staked
from chaoskit.judge.faults.readers import Readers, readers_of
from chaoskit.judge.subject.subject import DeclaredSettings
from chaoskit.judge.timing.timing import Timing, faults_of, load_of
from chaoskit.judge.verdict.bounds import Bounded, describe
from chaoskit.judge.verdict.headline import StoredAnomaly, lost_messages
from chaoskit.judge.verdict.verdict_file import read_findings, read_verdict
from chaoskit.report import charts, exposed, membership
from chaoskit.report.following import in_order
from chaoskit.report.page_file import tried
from chaoskit.report.series import Axis, Series, anomalies_of, series_of
from chaoskit.report.summary import describe_example, replay_command
from chaoskit.report.words import PHASE_WORDS

REPORT = "report.html"
_LABELS_MAX = 8
_GONE = "no send acknowledged"
_QUICK_OPERATIONS = 1_000_000
_USUAL = 0.9
"""So many of the bins have a usual rate, at most."""


def run_page(folder: Path) -> str:
    """Return the report of a judged run.

    Raises:
        BadInput: the run has no verdict, is damaged, or the packages of chaoskit[report] are missing.
    """
    from chaoskit.report.html import render  # noqa: PLC0415  # loads optional packages

    if (folder / store.VERDICT).exists():
        verify(folder, RECORDED, JUDGED)
    verdict, history = read_verdict(folder), History.open(folder)
    scenario = store.read_yaml(folder / store.SCENARIO, DeclaredSettings)
    faults = history.recorded_faults
    if len(faults) != len(verdict["faults"]):
        raise BadInput(
            f"{folder / store.VERDICT}: belongs to other faults; run `chaoskit check {folder}` to judge it again"
        )
    instants = [at_ns or 0 for fault in faults for at_ns in (fault.start_ns, fault.healed_ns)]
    load = load_of(folder)
    series = series_of(history, Timing(load, faults_of(faults)), max(instants, default=0))
    anomalies, domain = anomalies_of(read_findings(folder), series.axis), _domain(series.axis)
    bands = _faults(faults, series)
    return render(
        "run.html.j2",
        title=verdict["run"],
        verdict=verdict,
        lost=lost_messages({name: StoredAnomaly.of(anomaly) for name, anomaly in verdict["anomalies"].items()}),
        scenario=scenario,
        settings=(folder / store.SCENARIO).read_text(encoding="utf-8"),
        faults=faults,
        consequences=[
            "; ".join(filter(None, [in_words(fault), staked(fault)]))
            if "consequence" in fault and fault["effective"]
            else ""
            for fault in verdict["faults"]
        ],
        anomalies=_anomalies(verdict),
        strip=_strip(series, bands, anomalies, domain),
        figures=_figures(series, bands, anomalies, history.placements, readers_of(history, load.end_ns))
        + exposed.figures(_course(folder), domain),
        exposure=exposed.in_words(verdict["exposure"]) if "exposure" in verdict else [],
        latencies=_latencies(verdict["latency"], with_faults=bool(faults)),
        unavailable=series.unavailable,
        bounds={name: describe(Bounded(**bound)) for name, bound in verdict.get("bounds", {}).items()},
        bin_s=series.axis.bin_ns / 1e9,
        folder=str(folder),
        replay=replay_command(folder) if "imported" not in scenario else None,
    )


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a judged run atomically; return its path.

    Raises:
        BadInput: see `run_page`; or the file cannot be written.
    """
    path = out or folder / REPORT
    content = run_page(folder)
    try:
        durable.write(path, content.encode())
        owner.give([path])
    except PermissionError as error:
        raise owner.refused(error, path) from error
    except OSError as error:
        raise BadInput(f"--out {path}: cannot be written: {error.strerror}; choose another file") from error
    return path


def is_quick(folder: Path) -> bool:
    """Return whether the report of a run takes about a second."""
    return sum(group_sizes(folder / "operations.parquet")) <= _QUICK_OPERATIONS


def try_report(folder: Path) -> str | None:
    """Write a run's report if possible; otherwise return the reason."""
    return tried(REPORT, lambda: write_report(folder))


def _latencies(latency: Mapping[str, Any], *, with_faults: bool) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the latencies of a run with their names, as rows of a table."""
    send = latency.get("send", {})
    counted = send.get("without") and send.get("all_due")
    rows = [("send, from when it was due", send)]
    if counted:
        rows.append(("the same, including sends never acknowledged, until given up", counted))
    if with_faults:
        rows += [(f"send, {words}", latency.get(name, {}).get("send", {})) for name, words in PHASE_WORDS.items()]
    rows.append(("send, from the call", latency.get("send_from_actual", {})))
    end_to_end = latency.get("end_to_end", {})
    unsure = f" (± {end_to_end['uncertainty_ms']:.1f} ms: two clocks)" if "uncertainty_ms" in end_to_end else ""
    rows.append((f"end to end, due to first received{unsure}", end_to_end))
    rows.append(("late: from the end of its delay to first received", latency.get("late", {})))
    return [(text, point) for text, point in rows if point]


def _anomalies(verdict: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the anomalies, disallowed ones first and what follows from a loss after it, with examples in words."""
    anomalies = sorted(verdict["anomalies"].items(), key=lambda named: (named[1]["allowed"], -named[1]["count"]))
    ordered = in_order({name: StoredAnomaly.of(anomaly) for name, anomaly in anomalies})
    return [
        {
            "name": name,
            "loss": name in installed.gone(Gone.LOST),
            "follows": follows,
            **anomaly,
            "examples": [describe_example(example) for example in anomaly["examples"]],
        }
        for name, follows in ordered
        if (anomaly := verdict["anomalies"][name])
    ]


def _faults(faults: Sequence[Fault], series: Series) -> list[dict[str, Any]]:
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


def _figures(
    series: Series,
    faults: list[dict[str, Any]],
    anomalies: list[dict[str, Any]],
    placements: Placements,
    readers: Sequence[Readers],
) -> list[dict[str, Any]]:
    domain = _domain(series.axis)
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


def _domain(axis: Axis) -> list[float]:
    return [axis.start_ns / 1e9, (axis.start_ns + axis.count * axis.bin_ns) / 1e9]


def _course(folder: Path) -> list[dict[str, Any]]:
    """Return the exposure of each second, if the disks were recorded."""
    path = folder / store.EXPOSURE
    return store.read_json(path, list[dict[str, Any]]) if path.exists() else []


def _latency(rows: list[dict[str, float]], faults: list[dict[str, Any]], domain: list[float]) -> charts.Spec | None:
    if not rows:
        return None
    points = {"p50": ("p50", charts.BLUE), "p99": ("p99", charts.ORANGE), "max": ("max", charts.RED)}
    tooltip = charts.told(t="at s", p50="p50 ms", p99="p99 ms", max="max ms", n="messages")
    y = charts.log_y("latency (ms)", rows, list(points))
    lines = charts.lines(rows, points, charts.time_x(domain), y, tooltip)
    return charts.chart("latency", 230, [*charts.bands(faults, domain, labels=True), *lines])


def _strip(
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
