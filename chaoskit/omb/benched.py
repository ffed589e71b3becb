"""What a workload with a driver did, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskit.judge.machine import Machine, machine_of
from chaoskit.judge.timing import load_of
from chaoskit.judge.verdict import Verdict
from chaoskit.omb.fitness import doubts
from chaoskit.omb.plans import Bench
from chaoskit.omb.result import measured, result


@dataclass(frozen=True, slots=True)
class Benched:
    """A workload with a driver that was run.

    Attributes:
        bench: what was run.
        folder: the run folder.
        verdict: its verdict.
        document: OMB's result.
        acked_per_s: acknowledged sends a second, without the warm-up.
        machine: the machine meanwhile; None if nobody watched it.
        doubts: why the figures are not those of the system; empty if they are.
    """

    bench: Bench
    folder: Path
    verdict: Verdict
    document: dict[str, Any]
    acked_per_s: float
    machine: Machine | None
    doubts: tuple[str, ...]


def benched(bench: Bench, folder: Path, verdict: Verdict) -> Benched:
    """Return what a run did, without its warm-up."""
    found = measured(folder, load_of(folder).begin_ns, bench.warm_up_ns, bench.length_ns)
    document = result(found, bench.workload, bench.driver.name)
    acked_per_s = found.done_ns.size / (bench.length_ns / 1e9)
    machine = machine_of(folder, found.start_ns, found.end_ns)
    why_not = tuple(doubts(bench.plan.workload_options.rate, acked_per_s, document, machine))
    return Benched(bench, folder, verdict, document, acked_per_s, machine, why_not)
