"""Systems side by side: what the runs of a sweep tell of round trips, of throughput, and of what did not arrive.

The first axis of the sweep has what is compared, the second one the loads. What a run measures, its workload says
(`chaoskit.contract.workloads.workload.Measuring`); of any other run it is told what became of the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.compute as pc

from chaoskit.base.quantities import SECOND
from chaoskit.contract.workloads.workload import Measuring
from chaoskit.history.reading.reader import History
from chaoskit.report.side_by_side import RoundTrip, SideBySide, SystemFate, Throughput
from chaoskit.run.floor import DATAGRAM_MAX, Floor, floors
from chaoskit.search.sweep import Cell, Results, Sweep

ReceivedUntil = Callable[[str, int], int]

_US_PER_MS = 1_000


def comparing(sweep: Sweep, store: Path) -> Callable[[Mapping[str, Results]], SideBySide]:
    """Measure what this machine's hosts do without a system, and return a function that compares the results so far.

    Args:
        sweep: the sweep; it has two axes.
        store: where its run folders are kept.
    """
    size = smallest(sweep)
    floor = [] if size is None or size > DATAGRAM_MAX else list(floors(size))
    return partial(side_by_side, sweep, floor=floor, received=partial(received_until, store))


def smallest(sweep: Sweep) -> int | None:
    """Return the size of the smallest messages whose round trips are measured, bytes; None if none are."""
    return min((_options(cell).message_size for cell in sweep.cells if _measures(cell) == "round trips"), default=None)


def side_by_side(
    sweep: Sweep, by_cell: Mapping[str, Results], floor: Sequence[Floor], received: ReceivedUntil
) -> SideBySide:
    """Return what the runs so far tell.

    Args:
        sweep: the sweep.
        by_cell: the results of its cells, by name.
        floor: what the hosts do without a system.
        received: returns how many messages the subscribers of a run, by its name, had received by then, ns since its
            start.
    """
    trips = [RoundTrip(baseline.kind, "", baseline.payload, baseline.p50_us, baseline.p99_us) for baseline in floor]
    rates: list[Throughput] = []
    fates: list[SystemFate] = []
    lacking: list[str] = []
    for cell in sweep.cells:
        results = by_cell[cell.name]
        if not (verdicts := list(results.verdicts.values())):
            lacking.append(f"{cell.name}: {f'{len(results.broken)} failed' if results.broken else 'not run'}")
            continue
        measures = _measures(cell)
        if measures == "round trips":
            trips.append(_round_trip(sweep, cell, verdicts))
        elif measures == "throughput":
            rates.append(_throughput(sweep, cell, verdicts, received))
        else:
            fates.append(_fate(sweep, cell, verdicts))
    return SideBySide(trips, rates, fates, lacking)


@cache
def received_until(store: Path, run: str, until_ns: int) -> int:
    """Return how many messages the subscribers of a run in a store had received by then, ns since its start."""
    history, count = History.open(store / run), 0
    for partition in history.partitions:
        messages = history.messages(partition.topic, partition.partition)
        received = messages.filter(pc.equal(messages["direction"], "received"))["received_ns"]
        count += pc.sum(pc.less_equal(received, until_ns)).as_py() or 0
    return count


def _measures(cell: Cell) -> str:
    workload = cell.plan.workload
    return workload.measures if isinstance(workload, Measuring) else ""


def _options(cell: Cell) -> Any:
    return cell.plan.workload_options


def _names(cell: Cell) -> tuple[str, str]:
    """Return what is compared, and the load."""
    return cell.variants[0], "/".join(cell.variants[1:])


def _round_trip(sweep: Sweep, cell: Cell, verdicts: Sequence[Mapping[str, Any]]) -> RoundTrip:
    payload, (name, load) = _options(cell).message_size, _names(cell)
    took = [verdict["latency"].get("send_from_actual", {}) for verdict in verdicts]
    p50, p99 = (_half_us([latency.get(f"{point}_ms") for latency in took]) for point in ("p50", "p99"))
    published = sweep.published.get(name) if payload == smallest(sweep) else None
    # Each publisher's first message warms it up, before anybody is there to answer.
    unanswered = sum(max(0, verdict["counts"]["indeterminate"] - _options(cell).producers) for verdict in verdicts)
    published_us = None if published is None else published / 1e3
    return RoundTrip(name, load, payload, p50, p99, published_us, unanswered, _verdicts(cell, verdicts))


def _half_us(round_trips_ms: Sequence[float | None]) -> float | None:
    known = [round_trip_ms for round_trip_ms in round_trips_ms if round_trip_ms is not None]
    return median(known) * _US_PER_MS / 2 if known else None


def _throughput(sweep: Sweep, cell: Cell, verdicts: Sequence[Mapping[str, Any]], received: ReceivedUntil) -> Throughput:
    payload, (name, load) = _options(cell).message_size, _names(cell)
    load_ns = cell.plan.scenario.workload.duration
    ends = ((verdict["run"], round(verdict["load_start_s"] * SECOND) + load_ns) for verdict in verdicts)
    count = median(received(run, end_ns) for run, end_ns in ends)
    per_s, sent = count * SECOND / load_ns, sum(verdict["counts"]["sent"] for verdict in verdicts)
    counted = _anomaly_counts(sweep, verdicts)
    return Throughput(name, load, payload, per_s, per_s * payload, sent, counted, _verdicts(cell, verdicts))


def _fate(sweep: Sweep, cell: Cell, verdicts: Sequence[Mapping[str, Any]]) -> SystemFate:
    acked, received = (sum(verdict["counts"][count] for verdict in verdicts) for count in ("acked", "received"))
    whys = (
        anomaly["why"] for verdict in verdicts for name, anomaly in verdict["anomalies"].items() if name in sweep.count
    )
    reasons = (reason for verdict in verdicts for reason in verdict["reasons"])
    why = tuple(dict.fromkeys(words for words in (*whys, *reasons) if words))
    return SystemFate(*_names(cell), acked, received, _anomaly_counts(sweep, verdicts), _verdicts(cell, verdicts), why)


def _anomaly_counts(sweep: Sweep, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    seen: Counter[str] = Counter()
    for verdict in verdicts:
        seen.update({name: verdict["anomalies"][name]["count"] for name in sweep.count if name in verdict["anomalies"]})
    return {name: seen[name] for name in sweep.count}


def _verdicts(cell: Cell, verdicts: Sequence[Mapping[str, Any]]) -> str:
    seen = Counter(str(verdict["verdict"]) for verdict in verdicts)
    words = ", ".join(name if count == 1 else f"{count} {name}" for name, count in seen.items())
    return words if len(verdicts) == len(cell.plans) else f"{words}; {len(verdicts)} of {len(cell.plans)} runs"
