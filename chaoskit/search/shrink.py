"""Finds the smallest timeline that still makes a failed run fail, by running candidates.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over the
faults of a timeline. Three measures make it affordable although each test is a run: the most suspicious faults
are tried first; pauses in a candidate are shortened, so that a short timeline is a short run; and the number of
runs without the failure after which a candidate counts as harmless depends on the known failure rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from chaoskit.base import parquet, store
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.base.quantities import MILLISECOND, SECOND, format_duration
from chaoskit.base.reading import RESTORE
from chaoskit.contract.event import Event, Problem, Watcher
from chaoskit.judge.timing.recovery import read_recovery
from chaoskit.judge.verdict.verdict import INVALID
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.model.tables import FAULTS
from chaoskit.run.site import Site
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan

T = TypeVar("T")

LEAD_NS, GAP_NS, TAIL_NS = 3 * SECOND, 4 * SECOND, 5 * SECOND
"""Load before the first fault, between the healing of one and the beginning of the next, after the last."""

SUFFIX = "-shrunk"
"""Suffix of the scenario name for its candidates."""

_BEFORE_NS = 15 * SECOND
"""A fault that was healed at most this long before an anomaly may be its cause."""

_DOUBT = 0.05
"""Accepted probability that a failing candidate is taken for harmless."""

_TRIES_MAX = 10


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault as it happened: its entry in timeline.yaml, and its start and end, ns since the start of the load."""

    entry: Mapping[str, Any]
    start_ns: int
    end_ns: int

    def __str__(self) -> str:
        return f"{self.entry['inject']} on {', '.join(self.entry['hit'])} at {self.start_ns / 1e9:.1f} s"


@dataclass(frozen=True, slots=True)
class CandidateJudged(Event):
    """A candidate was run `runs` times; either the last run failed, or none did."""

    faults: tuple[Happened, ...]
    runs: int
    failed: bool


@dataclass(frozen=True, slots=True)
class RateMeasured(Event):
    """The failing timeline was run again. This fraction of runs failed, so a candidate counts as harmless after
    `tries` runs without a failure."""

    rate: float
    tries: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a run: disallowed anomalies, or no recovery; and when it occurred, ns since the start of the
    load."""

    anomalies: frozenset[str]
    unrecovered: bool
    between_ns: tuple[int, int] | None

    def in_verdict(self, verdict: Mapping[str, Any]) -> bool:
        """Return whether another run's verdict has at least part of the same failure."""
        return bool(self.anomalies & _disallowed(verdict)) or (
            self.unrecovered and not verdict["liveness"].get("recovered", True)
        )

    def __str__(self) -> str:
        return ", ".join([*sorted(self.anomalies), *["no recovery"] * self.unrecovered])


@dataclass(slots=True)
class Shrunk:
    """The result: the scenario, its faults, how many of the confirming runs failed, and the total number of runs."""

    scenario: dict[str, Any]
    faults: list[Happened]
    failed: int
    confirmed: int
    runs: int


@dataclass(slots=True)
class _Laboratory:
    """Runs candidates of one failed run and caches the results."""

    content: Mapping[str, Any]
    source: str
    failure: Failure
    site: Site
    watcher: Watcher
    tries: int
    known: dict[tuple[int, ...], bool] = field(default_factory=dict)
    runs: int = 0

    def fails(self, faults: Sequence[Happened]) -> bool:
        """Return whether a candidate fails, running it until it does or `tries` are used up."""
        key = tuple(fault.start_ns for fault in faults)
        if key not in self.known:
            count = next((attempt for attempt in range(1, self.tries + 1) if self.once(faults)), 0)
            self.known[key] = count > 0
            self.watcher.on(CandidateJudged(tuple(faults), count or self.tries, count > 0))
        return self.known[key]

    def once(self, faults: Sequence[Happened]) -> bool:
        """Run a candidate once; return whether it has the failure."""
        scenario = parse_scenario(candidate(self.content, faults), self.source)
        self.runs += 1
        try:
            _, verdict = self.site.run(make_plan(scenario, self.source), self.watcher)
        except RunFailed as error:
            self.watcher.on(Problem(f"the run failed to complete and is ignored: {error}"))
            return False
        return self.failure.in_verdict(verdict.as_json())


def shrink(folder: Path, store_folder: Path, watcher: Watcher, tries: int = 3, confirm: int = 3) -> Shrunk:
    """Return the smallest timeline found that still fails in the same way as the run.

    Args:
        folder: folder of a run whose verdict is invalid.
        store_folder: where the runs of candidates are kept.
        watcher: receives events.
        tries: initial number of runs without the failure after which a candidate counts as harmless; once the
            failure rate is known, the number that leaves a doubt of 5 %, at most ten.
        confirm: number of runs of the result at the end.

    Raises:
        BadInput: the run did not fail, or had no fault.
        RunFailed: even the complete timeline does not fail again.
    """
    content, verdict = store.read_yaml(folder / store.SCENARIO), read_verdict(folder)
    failure = failure_of(verdict)
    if verdict["verdict"] != INVALID or not (failure.anomalies or failure.unrecovered):
        raise BadInput(f"{folder}: the run is {verdict['verdict']}; only an invalid run can be shrunk")
    happened = read_happened(folder)
    if not happened:
        raise BadInput(f"{folder}: the run had no faults, so there is nothing to shrink")
    with Site(store_folder) as site:
        lab = _Laboratory(content, str(folder / store.SCENARIO), failure, site, watcher, tries)
        failing = _first_failing(happened, failure, lab)
        rate = sum(lab.once(failing) for _ in range(confirm)) / confirm
        lab.tries = tries_for(rate, tries)
        watcher.on(RateMeasured(rate, lab.tries))
        smallest = minimal(failing, lab.fails)
        failed = sum(lab.once(smallest) for _ in range(confirm))
    return Shrunk(candidate(content, smallest), list(smallest), failed, confirm, lab.runs)


def failure_of(verdict: Mapping[str, Any]) -> Failure:
    """Return what is wrong with a run, from its verdict.json."""
    wrong = _disallowed(verdict)
    times = [at_s for name in wrong for at_s in verdict["anomalies"][name]["between_s"] or ()]
    at_ns = [round((at_s - verdict["load_start_s"]) * SECOND) for at_s in times]
    between = (min(at_ns), max(at_ns)) if at_ns else None
    return Failure(wrong, not verdict["liveness"].get("recovered", True), between)


def read_happened(folder: Path) -> list[Happened]:
    """Return the injected faults of a run, in order of time."""
    load_start_ns = read_recovery(folder).get("load_start_ns", 0)
    rows = [row for row in parquet.read(folder / "faults.parquet", FAULTS).to_pylist() if row["targets"]]
    entries = store.read_timeline(folder) if rows else []
    if len(entries) != len(rows):
        raise BadInput(f"{folder / store.TIMELINE}: is of other faults than faults.parquet. {RESTORE}")
    return [
        Happened(entry, row["start_ns"] - load_start_ns, (row["healed_ns"] or row["heal_ns"]) - load_start_ns)
        for entry, row in zip(entries, sorted(rows, key=lambda row: row["fault"]), strict=True)
    ]


def suspects(happened: Sequence[Happened], failure: Failure) -> list[Happened]:
    """Return the faults that were active during, or shortly before, the failure; latest start first."""
    if failure.between_ns is None:
        return []
    first, last = failure.between_ns
    near = [fault for fault in happened if fault.start_ns <= last and fault.end_ns >= first - _BEFORE_NS]
    return sorted(near, key=lambda fault: abs(fault.start_ns - first))


def candidate(content: Mapping[str, Any], faults: Sequence[Happened]) -> dict[str, Any]:
    """Return a scenario with only these faults, with shortened pauses and the shortest possible load."""
    entries = []
    shift = None
    until = 0
    for fault in sorted(faults, key=lambda fault: fault.start_ns):
        if shift is None:
            shift = LEAD_NS - fault.start_ns
        elif fault.start_ns + shift > until + GAP_NS:
            shift = until + GAP_NS - fault.start_ns
        until = max(until, fault.end_ns + shift)
        waited = ("after", "when", "within") if fault.entry.keys() & {"after", "when"} else ()
        repeated = {key: value for key, value in fault.entry.items() if key not in ("hit", "began", *waited)}
        entries.append({**repeated, "at": format_duration(-(-(fault.start_ns + shift) // MILLISECOND) * MILLISECOND)})
    load_ns = -(-(until + TAIL_NS) // SECOND) * SECOND
    workload = {**content["workload"], "duration": format_duration(load_ns)}
    return {
        **content,
        "name": f"{content['name'].removesuffix(SUFFIX)}{SUFFIX}",
        "workload": workload,
        "faults": entries,
    }


def minimal(faults: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a failing subset from which no element can be removed (ddmin).

    >>> minimal(range(10), lambda some: {3, 7} <= set(some))
    [3, 7]

    Args:
        faults: faults that fail together.
        fails: whether a subset, in order, fails.
    """
    left = list(faults)
    parts = 2
    while len(left) >= 2:
        size = math.ceil(len(left) / parts)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        others = [[element for element in left if element not in chunk] for chunk in chunks]
        reduced = next((some for some in [*chunks, *others] if len(some) < len(left) and fails(some)), None)
        if reduced is not None:
            parts = 2 if reduced in chunks else max(parts - 1, 2)
            left = reduced
        elif parts >= len(left):
            break
        else:
            parts = min(parts * 2, len(left))
    return left


def tries_for(rate: float, least: int) -> int:
    """Return how many runs without a failure of this rate leave at most 5 % doubt; from `least` to ten.

    >>> tries_for(1.0, 1), tries_for(0.5, 1), tries_for(0.0, 3)
    (1, 5, 10)
    """
    if rate >= 1:
        return least
    needed = math.ceil(math.log(_DOUBT) / math.log(1 - rate)) if rate > 0 else _TRIES_MAX
    return min(max(needed, least), _TRIES_MAX)


def _first_failing(happened: Sequence[Happened], failure: Failure, lab: _Laboratory) -> list[Happened]:
    """Return a small failing set: one suspect, all suspects, or the complete timeline."""
    near = suspects(happened, failure)
    alone = [[fault] for fault in near]
    for some in [*alone, near, list(happened)]:
        if some and lab.fails(sorted(some, key=lambda fault: fault.start_ns)):
            return sorted(some, key=lambda fault: fault.start_ns)
    raise RunFailed(
        f"the failure ({failure}) did not recur in {lab.runs} runs, {lab.tries} of them with the complete timeline; "
        "try a higher --tries"
    )


def _disallowed(verdict: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        name for name, anomaly in verdict["anomalies"].items() if anomaly["count"] and not anomaly["allowed"]
    )
