"""From a run that failed to the smallest timeline that still fails, by running candidates for real.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over the
faults of a timeline. Three things make it affordable where each test is a run: the faults that the evidence
points to are tried first; a candidate's times are drawn together, so that a short timeline is a short run; and
a candidate counts as harmless only after so many runs without the failure as its known rate demands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

from chaoskit.base import store
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.base.quantities import MILLISECOND, SECOND, format_duration
from chaoskit.contract.event import Event, Problem, Watcher
from chaoskit.judge.verdict import INVALID
from chaoskit.run.site import Site
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan

T = TypeVar("T")

LEAD_NS, GAP_NS, TAIL_NS = 3 * SECOND, 4 * SECOND, 5 * SECOND
"""Load before the first fault, between the healing of one and the beginning of the next, after the last."""

SUFFIX = "-shrunk"
"""Behind the name of the scenario, in that of its candidates."""

_BEFORE_NS = 15 * SECOND
"""How long before an anomaly shows a fault may have been healed and still be its cause."""

_DOUBT = 0.05
"""Accepted chance that a candidate that would fail is taken for harmless."""

_TRIES_MAX = 10


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault as it happened: its entry in timeline.yaml, and from when to when it held, ns of the load."""

    entry: Mapping[str, Any]
    start_ns: int
    end_ns: int

    def __str__(self) -> str:
        return f"{self.entry['inject']} on {', '.join(self.entry['hit'])} at {self.start_ns / 1e9:.1f} s"


@dataclass(frozen=True, slots=True)
class CandidateJudged(Event):
    """A candidate was run so many times; the last of them failed, or none did."""

    faults: tuple[Happened, ...]
    runs: int
    failed: bool


@dataclass(frozen=True, slots=True)
class RateMeasured(Event):
    """The failing timeline was run again: this share of runs failed, so a candidate is harmless after `tries`
    without."""

    rate: float
    tries: int


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong with the run: disallowed anomalies, or no recovery; and when it showed, ns of the load."""

    anomalies: frozenset[str]
    unrecovered: bool
    between_ns: tuple[int, int] | None

    def in_verdict(self, verdict: Mapping[str, Any]) -> bool:
        """Return whether another run's verdict has the same failure, in whole or in part."""
        return bool(self.anomalies & _disallowed(verdict)) or (
            self.unrecovered and not verdict["liveness"].get("recovered", True)
        )

    def __str__(self) -> str:
        return ", ".join([*sorted(self.anomalies), *["no recovery"] * self.unrecovered])


@dataclass(slots=True)
class Shrunk:
    """The outcome: the scenario, its faults, how often it failed of how many runs, and all runs made."""

    scenario: dict[str, Any]
    faults: list[Happened]
    failed: int
    confirmed: int
    runs: int


@dataclass(slots=True)
class _Laboratory:
    """Runs candidates of one failed run and remembers what it saw."""

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
            self.watcher.on(Problem(f"the run broke and counts for nothing: {error}"))
            return False
        return self.failure.in_verdict(verdict.as_json())


def shrink(folder: Path, store_folder: Path, watcher: Watcher, tries: int = 3, confirm: int = 3) -> Shrunk:
    """Return the smallest timeline found that still fails as the run did.

    Args:
        folder: of a run whose verdict is invalid.
        store_folder: where the runs of candidates are kept.
        watcher: told of events.
        tries: runs without the failure after which a candidate counts as harmless, to begin with; once the
            failure's rate is known, as many as leave a doubt of 5 %, at most ten.
        confirm: runs of the result at the end.

    Raises:
        BadInput: the run did not fail, or had no fault.
        RunFailed: not even the whole timeline fails again.
    """
    content, verdict = store.read_yaml(folder / store.SCENARIO), store.read_json(folder / store.VERDICT)
    failure = failure_of(verdict)
    if verdict["verdict"] != INVALID or not (failure.anomalies or failure.unrecovered):
        raise BadInput(f"{folder}: the run is {verdict['verdict']}; only a run that found a failure can be shrunk")
    happened = read_happened(folder)
    if not happened:
        raise BadInput(f"{folder}: the run had no fault, so that none can be left out")
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
    """Return the faults of a run that began, in order of time."""
    load_start_ns = store.read_json(folder / store.RECOVERY)["load_start_ns"]
    rows = [row for row in pq.read_table(folder / "faults.parquet").to_pylist() if row["targets"]]
    entries = store.read_yaml(folder / store.TIMELINE)["faults"] if rows else []
    return [
        Happened(entry, row["start_ns"] - load_start_ns, (row["healed_ns"] or row["heal_ns"]) - load_start_ns)
        for entry, row in zip(entries, sorted(rows, key=lambda row: row["fault"]), strict=True)
    ]


def suspects(happened: Sequence[Happened], failure: Failure) -> list[Happened]:
    """Return the faults that held while, or shortly before, the failure showed; the latest begun first."""
    if failure.between_ns is None:
        return []
    first, last = failure.between_ns
    near = [fault for fault in happened if fault.start_ns <= last and fault.end_ns >= first - _BEFORE_NS]
    return sorted(near, key=lambda fault: abs(fault.start_ns - first))


def candidate(content: Mapping[str, Any], faults: Sequence[Happened]) -> dict[str, Any]:
    """Return a scenario with these faults only, drawn together in time, and as short a load as they allow."""
    entries = []
    shift = None
    until = 0
    for fault in sorted(faults, key=lambda each: each.start_ns):
        if shift is None:
            shift = LEAD_NS - fault.start_ns
        elif fault.start_ns + shift > until + GAP_NS:
            shift = until + GAP_NS - fault.start_ns
        until = max(until, fault.end_ns + shift)
        repeated = {key: value for key, value in fault.entry.items() if key not in ("hit", "began")}
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
    """Return a subset that fails and of which no element can be left out (ddmin).

    >>> minimal(range(10), lambda some: {3, 7} <= set(some))
    [3, 7]

    Args:
        faults: that fail together.
        fails: whether some of them, in order, do.
    """
    left = list(faults)
    parts = 2
    while len(left) >= 2:
        size = math.ceil(len(left) / parts)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        others = [[each for each in left if each not in chunk] for chunk in chunks]
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
    """Return how many runs without a failure of this rate leave no more than 5 % doubt; from `least` to ten.

    >>> tries_for(1.0, 1), tries_for(0.5, 1), tries_for(0.0, 3)
    (1, 5, 10)
    """
    if rate >= 1:
        return least
    needed = math.ceil(math.log(_DOUBT) / math.log(1 - rate)) if rate > 0 else _TRIES_MAX
    return min(max(needed, least), _TRIES_MAX)


def _first_failing(happened: Sequence[Happened], failure: Failure, lab: _Laboratory) -> list[Happened]:
    """Return a small set that fails: one suspect, all suspects, or the whole timeline."""
    near = suspects(happened, failure)
    alone = [[fault] for fault in near]
    for some in [*alone, near, list(happened)]:
        if some and lab.fails(sorted(some, key=lambda fault: fault.start_ns)):
            return sorted(some, key=lambda fault: fault.start_ns)
    raise RunFailed(
        f"the failure ({failure}) did not come again in {lab.runs} runs, {lab.tries} of them with the whole timeline; "
        "more --tries may find it"
    )


def _disallowed(verdict: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, found in verdict["anomalies"].items() if found["count"] and not found["allowed"])
