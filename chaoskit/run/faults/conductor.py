"""Begins the faults of a run when they are due, and waits until all are over.

Each fault (`chaoskit.run.faults.running`) has its own thread, so that a slow one does not delay others. Faults that
occupy different parts of a target may hold on it at once (`chaoskit.run.faults.occupancy`); those of a series do not,
unless they ask for it. Where a target is taken, a randomly drawn one is replaced by the next one drawn; otherwise the
fault applies to its other targets, or, if none is left, is recorded as ineffective. A fault with a limit (`at_most`),
which every fault of a series has, instead waits until its targets are free and the limit permits it. The load is held
open for a while for faults that are due; what is still waiting when it ends is dropped.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from chaoskit.contract.event import FaultDropped, Watcher
from chaoskit.contract.faults.nemesis import ClientProcess
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import Powered
from chaoskit.contract.systems.service import Service
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.run.faults.course import Course
from chaoskit.run.faults.occupancy import Occupancy
from chaoskit.run.faults.restoring import restores
from chaoskit.run.faults.running import RunningFault, settle
from chaoskit.run.faults.targeting import Targeting
from chaoskit.run.faults.triggering import Triggers
from chaoskit.scenario.plan import Plan
from chaoskit.scenario.timeline import PlannedFault


class Conductor:
    """Executes the timeline of one run.

    Args:
        plan: the plan with the faults.
        service: the system that they target.
        lab: all hosts of the lab.
        clients: the workload's clients that they target.
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC; recorded times are relative to it.
        watcher: notified of each change.
        in_system: maps a workload topic to its name in the system.
        changed: called when a fault is about to begin, was proved, or was healed.
        triggers: what faults wait for that do not begin at a time; None if none does.
        beside: what runs on other hosts: the instances of the application under test, its database.

    Attributes:
        course: what became of the faults so far.
        dropped: number of faults that never had their turn before the load ended.
        missed: why the run lacks faults that it should have had, as sentences.
    """

    def __init__(
        self,
        plan: Plan,
        service: Service,
        lab: Sequence[ServiceHost],
        clients: Sequence[ClientProcess],
        folder: Path,
        *,
        origin_ns: int,
        watcher: Watcher,
        in_system: Callable[[str], str] = str,
        changed: Callable[[], None] = lambda: None,
        triggers: Triggers | None = None,
        beside: Sequence[Powered] = (),
    ) -> None:
        stop = threading.Event()
        targeting = Targeting(plan, service, lab, in_system, stop)
        self.course: Course = Course(
            service=service,
            beside=beside,
            lab=lab,
            clients={client.name: client for client in clients},
            folder=folder,
            seed=plan.seed,
            origin_ns=origin_ns,
            watcher=watcher,
            in_system=in_system,
            changed=changed,
            triggers=triggers,
            targeting=targeting,
            occupancy=Occupancy(list(targeting.nodes)),
            log=FaultLog(folder / "wal"),
            stop=stop,
        )
        self._faults = plan.faults
        self._threads: list[threading.Thread] = []
        self._limited: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.dropped = 0
        self.missed: list[str] = []

    @property
    def restored(self) -> bool:
        """Whether every fault was proved healed and left nothing behind."""
        return self.course.all_healed and all(map(restores, self._faults))

    def start(self, load_start_ns: int) -> None:
        """Start the timeline; its times are relative to the start of the load."""
        self.course.load_start_ns = load_start_ns
        for number, planned in enumerate(self._faults):
            thread = threading.Thread(target=self._run, args=(number, planned), daemon=True)
            thread.start()
            self._threads.append(thread)

    def load_is_over(self) -> None:
        """Drop the faults that are still waiting for their turn; active faults run to their end."""
        self.course.load_over.set()

    def heal_now(self) -> None:
        """Start no further faults and heal the active ones."""
        self.course.heal_now()

    def join(self) -> None:
        """Wait until every fault has ended and is healed."""
        for thread in self._threads:
            thread.join()
        for kind, dropped in self._limited.items():
            count = sum(planned.kind == kind and _is_limited(planned) for planned in self._faults)
            self.missed.append(f"{dropped} of {count} {kind} were dropped: the load ended before their turn")
        settle(self.course)
        self.course.log.close()

    def _run(self, number: int, planned: PlannedFault) -> None:
        due_ns = self.course.load_start_ns + planned.at_ns
        over = self.course.load_over.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
        if over or not RunningFault(number, planned, self.course).run():
            self._drop(number, planned)

    def _drop(self, number: int, planned: PlannedFault) -> None:
        """Note a fault whose turn never came; those of a series, unless it repeats what happened, are noted
        together."""
        with self._lock:
            self.dropped += 1
            if planned.trigger is not None:
                why = f"its trigger ({planned.trigger}) did not occur"
                self.missed.append(f"{planned.kind} was dropped: {why}")
            elif _is_limited(planned):
                self._limited[planned.kind] += 1
            else:
                self.missed.append(f"{planned.kind} was dropped: the load ended before its turn")
        self.course.watcher.on(FaultDropped(number, planned.kind))


def _is_limited(planned: PlannedFault) -> bool:
    """Return whether a fault is one of a series that waits for its turn."""
    return planned.at_most is not None and not planned.repeats
