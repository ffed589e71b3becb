"""Faults that their caller begins and ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from chaoskit.base.errors import FaultError
from chaoskit.run.faults.course import Course
from chaoskit.run.faults.running import RunningFault, settle
from chaoskit.scenario.timeline import PlannedFault


class LiveFault:
    """A fault on a live cluster, from when it is proved until its healing is.

    It has a thread of its own, which makes it again where a boot of its host, by another fault, has removed it.

    Args:
        number: its number in the run.
        planned: the fault.
        course: what all faults of the cluster share.

    Attributes:
        planned: the fault as it was planned.
    """

    def __init__(self, number: int, planned: PlannedFault, course: Course) -> None:
        self._release = threading.Event()
        due_ns = course.now_ns() + course.origin_ns - course.load_start_ns
        self.planned: PlannedFault = replace(planned, at_ns=due_ns)
        self._running = RunningFault(number, self.planned, course, self._release)
        self._thread = threading.Thread(target=self._running.run, name=f"fault-{number}", daemon=True)

    @property
    def kind(self) -> str:
        """Its kind."""
        return self._running.record.kind

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the hosts that it hit."""
        return self._running.record.targets

    @property
    def evidence(self) -> str:
        """What was measured so far."""
        return self._running.record.evidence

    def begin(self) -> None:
        """Inject it, and wait until its effect is proved.

        Raises:
            FaultError: it had none; what it did in part is healed.
        """
        self._thread.start()
        try:
            self._running.begun.wait()
        except BaseException:
            self.end()
            raise
        if self._running.record.effective_ns is None:
            self.end()
            raise FaultError(self._said)

    def end(self) -> None:
        """Undo it, and wait until that was looked at; nothing happens if it was done before."""
        self._release.set()
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise what remains of it after its end.

        Raises:
            FaultError: it is not healed.
        """
        record = self._running.record
        if record.heal_ns is not None and record.healed_ns is None:
            raise FaultError(self._said)

    @property
    def _said(self) -> str:
        return f"{self.kind} on {', '.join(self.targets or self._running.record.on)}: {self.evidence}"


class LiveFaults:
    """The faults of a live cluster.

    Args:
        course: what they share.

    Attributes:
        all: all that were begun, oldest first.
    """

    def __init__(self, course: Course) -> None:
        self.all: list[LiveFault] = []
        self._course = course
        self._lock = threading.Lock()

    @property
    def active(self) -> tuple[str, ...]:
        """Those that hold now, such as `kill on n1`."""
        return tuple(self._course.active.values())

    def begin(self, plan: Callable[[int], PlannedFault]) -> LiveFault:
        """Begin a fault and prove its effect; raises like `LiveFault.begin`.

        Args:
            plan: returns the fault, given its number.
        """
        with self._lock:
            fault = LiveFault(len(self.all), plan(len(self.all)), self._course)
            self.all.append(fault)
        fault.begin()
        return fault

    def heal(self, fault: LiveFault) -> None:
        """Heal a fault, and prove that; nothing happens if it was healed before.

        Raises:
            FaultError: it is not healed.
        """
        fault.end()
        self._settle()
        fault.check()

    def heal_all(self) -> list[str]:
        """Heal all faults, and begin none any more; return why some are not healed."""
        self._course.heal_now()
        for fault in self.all:
            fault.end()
        self._settle()
        problems = []
        for fault in self.all:
            try:
                fault.check()
            except FaultError as error:
                problems.append(str(error))
        return problems

    def _settle(self) -> None:
        with self._lock:
            if not self._course.active:
                settle(self._course)
