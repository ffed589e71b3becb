"""The course of a run's faults: what they share while they run, and what became of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaoskit.base.store import TIMELINE, write_yaml
from chaoskit.contract.event import FaultFailed, Watcher
from chaoskit.contract.faults.nemesis import ClientProcess
from chaoskit.contract.hosts.host import Doubt, ServiceHost
from chaoskit.contract.power import Powered
from chaoskit.contract.systems.service import Service
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.history.format.fault import Fault
from chaoskit.history.format.segment import HistoryFull, room_in
from chaoskit.run.faults.due import Due
from chaoskit.run.faults.occupancy import Occupancy
from chaoskit.run.faults.targeting import Targeting
from chaoskit.run.faults.triggering import Triggers
from chaoskit.scenario.timeline import PlannedFault


@dataclass
class Course:
    """What the faults of a run share; for the threads of all of them.

    Attributes:
        service: the system that they target.
        beside: what runs on other hosts than the system: the instances of the application under test, its database.
        lab: all hosts of the lab.
        clients: the workload's clients, by name.
        folder: the run folder.
        seed: the seed of the run.
        origin_ns: start of the run, CLOCK_MONOTONIC; recorded times are relative to it.
        watcher: notified of each change.
        in_system: maps a workload topic to its name in the system.
        changed: called when a fault is about to begin, was proved, or was healed.
        triggers: what faults wait for that do not begin at a time; None if none does.
        targeting: finds the hosts that targets name.
        occupancy: which faults hold on which targets.
        log: what is recorded of them.
        stop: set when active faults must end.
        load_over: set when no further fault may begin.
        load_start_ns: start of the load, CLOCK_MONOTONIC.
        due: those that are due, and have neither taken effect nor failed to.
        active: the active faults, such as `kill on n1`, by number.
        problems: what went wrong, as sentences.
        doubts: why faults that took effect and healed may have shown little, as sentences.
        all_healed: whether every fault that began was proved healed.
        full: why faults could not be recorded any more; all that were active have been healed then.
        owed: proofs of a healing that another fault prevents, until no fault holds any more.
    """

    service: Service
    beside: Sequence[Powered]
    lab: Sequence[ServiceHost]
    clients: Mapping[str, ClientProcess]
    folder: Path
    seed: int
    origin_ns: int
    watcher: Watcher
    in_system: Callable[[str], str]
    changed: Callable[[], None]
    triggers: Triggers | None
    targeting: Targeting
    occupancy: Occupancy
    log: FaultLog
    stop: threading.Event
    load_over: threading.Event = field(default_factory=threading.Event)
    load_start_ns: int = 0
    due: Due = field(default_factory=Due)
    active: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    all_healed: bool = True
    full: HistoryFull | None = None
    owed: list[tuple[Fault, Callable[[], str]]] = field(default_factory=list)
    _timeline: dict[int, dict[str, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now_ns(self) -> int:
        """Return the time, ns since the start of the run."""
        return time.monotonic_ns() - self.origin_ns

    def in_history(self, topic: str) -> str:
        """Return the workload's name of a topic, or another one if it is not one of this trial."""
        namespace = self.in_system("")
        return topic.removeprefix(namespace) if topic.startswith(namespace) else f"system:{topic}"

    def record(self, fault: Fault) -> None:
        """Record a fault as it is now; if there is no space for that, end all faults."""
        try:
            self.log.record(fault.row())
        except HistoryFull as error:
            self.end(error)

    def enter(self, planned: PlannedFault, fault: Fault) -> None:
        """Enter a fault that begins into `timeline.yaml`.

        Raises:
            HistoryFull: there is no space for it.
        """
        began_s = (fault.start_ns + self.origin_ns - self.load_start_ns) / 1e9
        with self._lock:
            self._timeline[fault.number] = {**planned.as_spec(fault.targets), "began": f"{began_s:.3f}s"}
            entries = [self._timeline[number] for number in sorted(self._timeline)]
            with room_in(self.folder):
                write_yaml(self.folder / TIMELINE, {"seed": self.seed, "faults": entries})

    def heal_now(self) -> None:
        """Start no further faults and heal the active ones."""
        self.load_over.set()
        self.stop.set()

    def end(self, error: HistoryFull) -> None:
        """End the faults: what cannot be recorded must not be done."""
        self.full = self.full or error
        self.heal_now()

    def fail(self, fault: Fault, problem: str) -> None:
        """Note that a fault had no effect, or was not healed."""
        fault.say(problem)
        self.problems.append(f"{fault.kind}: {problem}")
        self.watcher.on(FaultFailed(fault.number, fault.kind, problem))

    def doubt(self, kind: str, doubt: Doubt) -> None:
        """Note why a fault may have shown little."""
        at_s = (doubt.at_ns - self.origin_ns) / 1e9
        self.doubts.append(f"{kind}: {doubt.event} at {at_s:.1f} s: {doubt.consequence}")
