"""Systems beside each other: what the runs of a sweep tell of round trips, of throughput, and of what did not arrive.

The first axis of the sweep has what is compared. What a run measures, its workload says
(`chaoskit.contract.workload.Measuring`); of any other run it is told what became of the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from chaoskit.contract.workload import Measuring
from chaoskit.report.side_by_side import Fate, RoundTrip, SideBySide, Throughput
from chaoskit.run.floor import Floor
from chaoskit.search.sweep import Cell, Results, Sweep

_US_PER_MS = 1_000


def side_by_side(sweep: Sweep, found: Mapping[str, Results], floor: Sequence[Floor]) -> SideBySide:
    """Return what the runs so far tell.

    Args:
        sweep: the sweep.
        found: the results of its cells, by name.
        floor: what the hosts do without a system.
    """
    trips = [RoundTrip(each.kind, each.payload, each.p50_us, each.p99_us) for each in floor]
    rates: list[Throughput] = []
    fates: list[Fate] = []
    for cell in sweep.cells:
        if verdicts := list(found[cell.name].verdicts.values()):
            measures = _measures(cell)
            if measures == "round trips":
                trips.append(_round_trip(sweep, cell, verdicts))
            elif measures == "throughput":
                rates.append(_throughput(sweep, cell, verdicts))
            else:
                fates.append(_fate(sweep, cell, verdicts))
    return SideBySide(trips, rates, fates)


def payloads(sweep: Sweep) -> list[int]:
    """Return the sizes of the messages whose round trips are measured, bytes."""
    measured = {_options(cell).message_size for cell in sweep.cells if _measures(cell) == "round trips"}
    return sorted(measured)


def _measures(cell: Cell) -> str:
    workload = _plan(cell).workload
    return workload.measures if isinstance(workload, Measuring) else ""


def _plan(cell: Cell) -> Any:
    return next(iter(cell.plans.values()))


def _options(cell: Cell) -> Any:
    return _plan(cell).workload_options


def _round_trip(sweep: Sweep, cell: Cell, verdicts: Sequence[Mapping[str, Any]]) -> RoundTrip:
    name = cell.variants[0]
    took = [each["latency"]["send_from_actual"] for each in verdicts]
    p50, p99 = (median(each[f"{point}_ms"] for each in took) * _US_PER_MS / 2 for point in ("p50", "p99"))
    published = sweep.published[name] / 1e3 if name in sweep.published else None
    unanswered = sum(each["counts"]["indeterminate"] for each in verdicts)
    return RoundTrip(name, _options(cell).message_size, p50, p99, published, unanswered, _verdicts(verdicts))


def _throughput(sweep: Sweep, cell: Cell, verdicts: Sequence[Mapping[str, Any]]) -> Throughput:
    payload = _options(cell).message_size
    load_s = _plan(cell).scenario.workload.duration / 1e9
    per_s = median(each["counts"]["received"] for each in verdicts) / load_s
    sent = sum(each["counts"]["sent"] for each in verdicts)
    return Throughput(
        cell.variants[0], payload, per_s, per_s * payload, sent, _found(sweep, verdicts), _verdicts(verdicts)
    )


def _fate(sweep: Sweep, cell: Cell, verdicts: Sequence[Mapping[str, Any]]) -> Fate:
    acked, received = (sum(each["counts"][count] for each in verdicts) for count in ("acked", "received"))
    told = (found["why"] for each in verdicts for found in each["anomalies"].values() if found["count"])
    reasons = (reason for each in verdicts for reason in each["reasons"])
    why = tuple(dict.fromkeys(words for words in (*told, *reasons) if words))
    load = "/".join(cell.variants[1:])
    subscribers = _options(cell).consumers
    return Fate(cell.variants[0], load, acked, received, subscribers, _found(sweep, verdicts), _verdicts(verdicts), why)


def _found(sweep: Sweep, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    seen: Counter[str] = Counter()
    for each in verdicts:
        seen.update({name: each["anomalies"][name]["count"] for name in sweep.count if name in each["anomalies"]})
    return {name: seen[name] for name in sweep.count}


def _verdicts(verdicts: Sequence[Mapping[str, Any]]) -> str:
    seen = Counter(str(each["verdict"]) for each in verdicts)
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in seen.items())
