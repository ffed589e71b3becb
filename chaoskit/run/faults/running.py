"""A fault that is happening now."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.event import FaultHealed, FaultProved
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, Strike, is_dark
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import nemesis
from chaoskit.contract.systems.installation import Installation
from chaoskit.history.format.fault import Fault
from chaoskit.history.format.segment import HistoryFull
from chaoskit.run.faults.boots import Boots
from chaoskit.run.faults.course import Course
from chaoskit.run.faults.occupancy import Claim
from chaoskit.run.faults.together import Together
from chaoskit.scenario.timeline import PlannedFault

_TURN_POLL_S = 0.05


class RunningFault:
    """One fault of a run: it waits for its turn, claims its targets, is injected, holds and is healed.

    Args:
        number: its number in the run.
        planned: the fault as it was planned.
        course: what all faults of the run share.
        release: ends a fault that lasts until somebody sets it; None: it lasts as long as was planned.

    Attributes:
        record: the fault as it is recorded.
        begun: set once its effect is proved, or it is known that it has none.
    """

    def __init__(
        self, number: int, planned: PlannedFault, course: Course, release: threading.Event | None = None
    ) -> None:
        self._planned = planned
        self._course = course
        self._release = release
        self.begun: threading.Event = threading.Event()
        self.record: Fault = Fault(
            number, planned.kind, course.now_ns(), planned.on, planned.for_ns, planned.parameters
        )

    def run(self) -> bool:
        """Take it through all of its steps; return whether it had its turn before the load ended."""
        number, course = self.record.number, self._course
        try:
            if not self._triggered():
                return False
            course.due.add(number, self.record.kind)
            if not (targets := self._claim()):
                return False
            course.due.begin(number)
            self._perform(targets)
        except Exception as error:  # noqa: BLE001  # a broken nemesis makes the run unknown, it does not end it
            course.fail(self.record, f"no effect: {words(error)}")
        finally:
            self.begun.set()
            course.due.remove(number)
            course.occupancy.release(number)
        course.record(self.record)
        return True

    def _triggered(self) -> bool:
        """Wait for what it waits for, if anything; return whether that came true."""
        if self._planned.trigger is None:
            return True
        triggers = self._course.triggers
        event = triggers.wait(self._planned, self._course.load_over) if triggers is not None else ""
        self.record.say(f"began once {event}" if event else "")
        return bool(event)

    @cached_property
    def _nemesis(self) -> Nemesis:
        return nemesis(self._planned.kind)

    @cached_property
    def _parameters(self) -> Any:
        return self._nemesis.parameters.model_validate(self._planned.parameters)

    def _claim(self) -> list[str]:
        """Wait for its turn; return the names of its targets, which are claimed; empty if the load ended before."""
        claim = Claim.of(self.record.number, self._planned.kind, self._nemesis, self._parameters)
        while True:
            if targets := self._take(claim):
                return targets
            if self._course.load_over.wait(_TURN_POLL_S):
                return []

    def _take(self, claim: Claim) -> list[str]:
        """Return the names of its targets, claimed; empty if a fault with a limit must wait.

        Raises:
            ChaoskitError: all targets are under a fault, and this fault does not wait.
        """
        planned, course = self._planned, self._course
        hosts = course.targeting.hosts
        of_clients = set(planned.on) <= course.clients.keys()
        if not (of_clients or planned.overlap or course.occupancy.has_room(planned.at_most)):
            return []
        wanted: list[str] = []
        for target in planned.on:
            wanted += [target] if target in course.clients else course.targeting.named(target, planned.pick)
        without = [name for name in (*wanted, *planned.spare) if name in hosts and self._is_dark(hosts[name])]
        if course.load_over.is_set():
            return []
        return course.occupancy.take(claim, planned, wanted, without)

    def _is_dark(self, host: ServiceHost) -> bool:
        return is_dark(host, self._course.occupancy.beside(host.name, -1))

    def _perform(self, targets: Sequence[str]) -> None:
        self.record.targets = tuple(targets)
        self._strike = self._struck(targets)
        self._boots = Boots(self._strike, self._course.lab, self.record.say)
        try:
            self._inject()
            self._hold()
        except HistoryFull as error:
            self._course.end(error)
        except Exception as error:  # noqa: BLE001  # as above; what was injected in part is healed
            self._course.fail(self.record, f"no effect: {words(error)}")
        self._heal()
        if self._release is not None and self._planned.for_ns is not None:
            self._note_length()

    def _note_length(self) -> None:
        """Record for how long it held, since nobody planned that."""
        record = self.record
        record.for_ns = (record.heal_ns or record.start_ns) - record.start_ns
        try:
            self._course.enter(replace(self._planned, for_ns=record.for_ns), record)
        except HistoryFull as error:
            self._course.end(error)

    def _struck(self, targets: Sequence[str]) -> Strike:
        """Return what the nemesis is given."""
        course, planned = self._course, self._planned
        hosts, nodes = course.targeting.hosts, course.targeting.nodes
        return Strike(
            name=f"{self.record.number}-{planned.kind}",
            hosts=[hosts[name] for name in targets if name in hosts],
            nodes=[nodes[name] for name in targets if name in nodes],
            clients=[course.clients[name] for name in targets if name in course.clients],
            service=self._service(targets),
            lab=course.lab,
            parameters=self._parameters,
            seed=planned.seed,
            resolve=lambda name: course.targeting.resolve(name, planned.pick),
            in_system=course.in_system,
            doubt=lambda doubt: course.doubt(planned.kind, doubt),
            beside=lambda host: course.occupancy.beside(host.name, self.record.number),
        )

    def _service(self, targets: Sequence[str]) -> Any:
        """Return what runs on the targets: the system, the application or its database; or all that do."""
        hit = []
        for other in self._course.beside:
            names = {host.name for host in other.power(Installation).hosts}
            if names.issuperset(targets):
                return other
            if not names.isdisjoint(targets):
                hit.append(other)
        return Together(self._course.service, hit) if hit else self._course.service

    def _inject(self) -> None:
        """Begin, and prove the effect."""
        record, course = self.record, self._course
        record.start_ns = course.now_ns()
        if course.triggers is not None:
            course.triggers.began(self._planned, record)
        course.log.record(record.row())
        course.enter(self._planned, record)
        course.active[record.number] = f"{record.kind} on {self._strike.names}"
        course.changed()
        evidence = self._boots.powered(lambda: self._strike.hosts, self._made, self._made_again)
        record.effective_ns = course.now_ns()
        course.due.remove(record.number)
        if self._strike.hosts:
            record.targets = tuple(host.name for host in self._nemesis.struck(self._strike))
        record.say(evidence.sentence)
        course.log.record(record.row())
        course.changed()
        course.watcher.on(FaultProved(record.number, record.kind, record.targets, evidence.sentence, evidence.figures))
        self.begun.set()

    def _made(self) -> Evidence:
        try:
            self._nemesis.inject(self._strike)
            return self._nemesis.verify(self._strike)
        finally:  # what was done in part, or cannot be proved, explains findings all the same
            self._note_orders()

    def _note_orders(self) -> None:
        """Record what was damaged, deleted or reset on purpose, by the workload's names."""
        strike, named = self._strike, self._course.in_history
        self.record.damaged = tuple((named(topic), number) for topic, number in strike.damaged)
        self.record.deleted = {(named(topic), number): before for (topic, number), before in strike.deleted.items()}
        self.record.reset = {(named(topic), number): move for (topic, number), move in strike.reset.items()}

    def _made_again(self) -> Evidence:
        self._nemesis.heal(self._strike)
        return self._made()

    def _hold(self) -> None:
        """Wait until it is over; make it again where a boot has removed it."""
        while not self._is_over():
            booted = {host.name for host in self._boots.booted()}
            if lost := [host for host in self._nemesis.carriers(self._strike) if host.name in booted]:
                self._renew(lost)

    def _is_over(self) -> bool:
        """Wait a moment; return whether it has lasted long enough."""
        stop, lasts_ns = self._course.stop, self._planned.for_ns
        if self._release is not None and lasts_ns is not None:
            return self._release.wait(_TURN_POLL_S) or stop.is_set()
        left_ns = self.record.start_ns + (lasts_ns or 0) - self._course.now_ns()
        return left_ns <= 0 or stop.wait(min(left_ns / 1e9, _TURN_POLL_S))

    def _renew(self, lost: Sequence[ServiceHost]) -> None:
        record, names, seen_ns = self.record, ", ".join(host.name for host in lost), self._course.now_ns()

        def renewed() -> Evidence:
            self._nemesis.renew(self._strike, lost)
            return self._nemesis.verify(self._strike)

        try:
            evidence = self._boots.powered(lambda: lost, renewed, renewed)
        except Exception as error:  # noqa: BLE001  # as above
            self._course.fail(record, f"lost when {names} booted, and not restored: {words(error)}")
        else:
            again_ns = self._course.now_ns()
            record.say(f"lost when {names} booted ({_seconds(seen_ns)}); restored ({_seconds(again_ns)}): {evidence}")

    def _heal(self) -> None:
        """Undo it, and prove that."""
        record, course = self.record, self._course
        record.heal_ns = course.now_ns()
        try:
            evidence = self._healed()
        except Exception as error:  # noqa: BLE001  # as above
            course.all_healed = False
            course.fail(record, f"not healed: {words(error)}")
        else:
            record.healed_ns = course.now_ns()
            record.say(evidence.sentence)
            course.watcher.on(
                FaultHealed(record.number, record.kind, record.targets, evidence.sentence, evidence.figures)
            )
            course.owed += [(record, proof) for proof in self._strike.owed]
        course.changed()
        course.active.pop(record.number, None)

    def _healed(self) -> Evidence:
        """Heal it and prove that; again once no other fault holds beside it, if one prevents it."""
        strike = self._strike
        try:
            return self._boots.powered(
                lambda: [*strike.hosts, *self._nemesis.carriers(strike)], self._undone, self._undone
            )
        except ChaoskitError as error:
            others = dict.fromkeys(other for host in strike.hosts for other in strike.beside(host))
            if not others:
                raise
            self.record.say(f"not healed while {', '.join(others)} held ({error})")
            while not self._course.occupancy.is_its_turn(self.record.number):
                time.sleep(_TURN_POLL_S)
            return self._undone()

    def _undone(self) -> Evidence:
        self._strike.owed.clear()
        self._nemesis.heal(self._strike)
        return self._nemesis.verify_healed(self._strike)


def settle(course: Course) -> None:
    """Prove what could not be proved of a healing as long as another fault held; none holds any more."""
    owed, course.owed[:] = list(course.owed), []
    for fault, proof in owed:
        try:
            fault.say(f"after the other faults: {proof()}")
        except Exception as error:  # noqa: BLE001  # a broken nemesis makes the run unknown, it does not end it
            course.all_healed = False
            fault.healed_ns = None
            course.fail(fault, f"not healed: {words(error)}")
        course.record(fault)


def words(error: Exception) -> str:
    """Return an exception of a nemesis in words."""
    return str(error) if isinstance(error, ChaoskitError) else f"bug in the nemesis: {error!r}"


def _seconds(at_ns: int) -> str:
    return f"{at_ns / 1e9:.1f} s"
