"""What a workload with a driver did, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chaoskit.interop.omb.fitness import doubts
from chaoskit.interop.omb.plans import Bench
from chaoskit.interop.omb.result import Measured, measured, result
from chaoskit.judge.timing.machine import Machine, machine_of, seconds_of
from chaoskit.judge.timing.recovery import BuiltBacklog, read_recovery
from chaoskit.judge.timing.timing import load_of
from chaoskit.judge.verdict.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ReadBacklog:
    """A backlog that was built and read.

    Attributes:
        messages: how many messages waited, summed over the subscriptions.
        built_s, read_s: how long building and reading took, seconds; None: it was not done.
        received_per_s: messages received a second while it was read.
    """

    messages: int
    built_s: float | None
    read_s: float | None
    received_per_s: float


@dataclass(frozen=True, slots=True)
class Benched:
    """A workload with a driver that was run.

    Attributes:
        bench: what was run.
        folder: the run folder.
        verdict: its verdict.
        document: OMB's result.
        acked_per_s: acknowledged sends a second, without the warm-up.
        due_p99_ms: 99th percentile of the time from when a send was due to its acknowledgement.
        backlog: the backlog that was built and read; None if there was none.
        machine: the machine meanwhile; None if nobody watched it.
        doubts: why the figures are not those of the system; empty if they are.
    """

    bench: Bench
    folder: Path
    verdict: Verdict
    document: dict[str, Any]
    acked_per_s: float
    due_p99_ms: float
    backlog: ReadBacklog | None
    machine: Machine | None
    doubts: tuple[str, ...]


def benched(bench: Bench, folder: Path, verdict: Verdict) -> Benched:
    """Return what a run did, without its warm-up. Building and reading a backlog count, too."""
    planned, begin_ns = read_recovery(folder).get("load"), load_of(folder).begin_ns
    built = planned.get("backlog") if planned else None
    length_ns = planned["end_ns"] - begin_ns - bench.warm_up_ns if planned and built else bench.length_ns
    measurements = measured(folder, begin_ns, bench.warm_up_ns, length_ns)
    document = result(measurements, bench.workload, bench.driver.name)
    acked_per_s = measurements.done_ns.size / (length_ns / 1e9)
    machine = machine_of(seconds_of(folder), measurements.start_ns, measurements.end_ns)
    why_not = tuple(doubts(bench.plan.workload_options.rate, acked_per_s, document, machine))
    backlog = _read(built, measurements) if built else None
    return Benched(bench, folder, verdict, document, acked_per_s, measurements.due_p99_ms, backlog, machine, why_not)


def _read(built: BuiltBacklog, measurements: Measured) -> ReadBacklog:
    paused_ns, resumed_ns, read_ns = built["paused_ns"], built["resumed_ns"], built["read_ns"]
    built_s = None if resumed_ns is None else (resumed_ns - paused_ns) / 1e9
    if resumed_ns is None or read_ns is None:
        return ReadBacklog(built["messages"], built_s, None, 0)
    read_s = (read_ns - resumed_ns) / 1e9
    received = np.count_nonzero((measurements.received_ns >= resumed_ns) & (measurements.received_ns < read_ns))
    return ReadBacklog(built["messages"], built_s, read_s, received / read_s)
