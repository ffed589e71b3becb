"""The load of a trial while it goes on: how long, and why it ends before it was to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.contract.event import LoadTick, Problem, Watcher
from chaoskit.contract.workloads.traits import Backlog, Paced
from chaoskit.contract.workloads.workload import PRODUCER
from chaoskit.run import gauge
from chaoskit.run.backlog import Backlogging
from chaoskit.run.client import Client
from chaoskit.run.faults.conductor import Conductor
from chaoskit.run.faults.due import Held
from chaoskit.run.fleet import Fleet
from chaoskit.run.interruption import INTERRUPTED, Interruption
from chaoskit.run.stopping import Stopping
from chaoskit.scenario.plan import Plan

_TICK_S = 0.2


class Loading:
    """The load of a trial.

    Args:
        plan: the plan.
        fleet: the clients.
        clients: those of its clients that make the load; all but producers pause for a backlog.
        conductor: injects the faults; it has started.
        folder: the run folder.
        start_ns: start of the load, CLOCK_MONOTONIC.
        origin_ns: start of the run, CLOCK_MONOTONIC; recorded times are relative to it.
        watcher: receives the events.
        interrupted: set when the user interrupts the run.

    Attributes:
        held_ns: for how long the load was held open for faults that were due.
        problems: what ended it early, as sentences.
    """

    def __init__(
        self,
        plan: Plan,
        fleet: Fleet,
        clients: Sequence[Client],
        conductor: Conductor,
        folder: Path,
        *,
        start_ns: int,
        origin_ns: int,
        watcher: Watcher,
        interrupted: Interruption,
    ) -> None:
        self.held_ns: int = 0
        self.problems: list[str] = []
        self._plan = plan
        self._fleet = fleet
        self._clients = clients
        self._machine = folder / store.MACHINE
        self._origin_ns = origin_ns
        self._conductor = conductor
        self._start_ns = start_ns
        self._watcher = watcher
        self._interrupted = interrupted
        pausing = [client for client in clients if client.worker.task.role != PRODUCER]
        self._backlog = Backlogging(plan.declared.get(Backlog), pausing, start_ns, watcher)
        self._end_ns = start_ns

    def wait(self) -> None:
        """Wait until the load has lasted as long as it was to, or must end before; watch the machine meanwhile."""
        watched = gauge.start(str(self._machine), self._origin_ns, self._fleet.here(self._clients))
        try:
            self._wait()
        finally:
            watched.terminate()
            watched.wait()

    def recorded(self) -> dict[str, Any]:
        """Return what recovery.json says of it."""
        paced = self._plan.declared.get(Paced)
        return {
            "end_ns": self._end_ns - self._origin_ns,
            "backlog": self._backlog.told(self._origin_ns),
            "paced": None if paced is None else asdict(paced),
        }

    def _wait(self) -> None:
        due_ns = self._start_ns + self._plan.scenario.workload.duration
        held = Held(self._conductor.course.due, self._watcher)
        with closing(Stopping(self._plan.scenario.stop_when)) as stopping:
            while held.goes_on(due_ns + self._backlog.lasted_ns()) and not self._interrupted.wait(_TICK_S):
                if self._ends_early(stopping):
                    break
        if self._interrupted.is_set():
            self.problems.append(INTERRUPTED)
        now_ns = time.monotonic_ns()
        self.held_ns = held.lasted_ns
        self._end_ns = now_ns if held.lasted_ns else min(due_ns + self._backlog.lasted_ns(), now_ns)
        self._backlog.end()

    def _ends_early(self, stopping: Stopping) -> bool:
        """Tell the watcher how it goes; return whether it must end now."""
        progress, course = self._fleet.progress(), self._conductor.course
        elapsed_s = (time.monotonic_ns() - self._start_ns) / 1e9
        self._watcher.on(LoadTick(elapsed_s, progress, tuple(course.active.values()), self._fleet.latency()))
        if why := stopping.reason(progress):
            self.problems.append(f"stopped early: {why}")
            self._watcher.on(Problem(f"stopping: {why}; healing faults"))
            self._conductor.heal_now()
            return True
        if course.full or self._fleet.full():
            self._watcher.on(Problem("no space left for the history: healing faults, then ending the run"))
            return True
        if failures := self._fleet.failures():
            self.problems += failures
            self._watcher.on(Problem("; ".join(failures)))
            return True
        if late := self._backlog.look(progress):
            self.problems.append(late)
            self._watcher.on(Problem(late))
            return True
        return False
