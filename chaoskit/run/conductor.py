"""Injects the faults of a run on schedule, proves each, heals each, and records each.

Each fault has its own thread, so that a slow one does not delay others. Faults that occupy different parts of a target
may hold on it at once (`chaoskit.run.occupancy`); those of a series do not, unless they ask for it. Where a target is
taken, a randomly drawn one is replaced by the next one drawn; otherwise the fault applies to its other targets, or, if
none is left, is recorded as ineffective. A fault with a limit (`at_most`), which every fault of a series has, instead
waits until its targets are free and the limit permits it. The load is held open for a while for faults that are due;
what is still waiting when it ends is dropped.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.store import TIMELINE, write_yaml
from chaoskit.contract.event import FaultDropped, FaultFailed, FaultHealed, FaultProved, Watcher
from chaoskit.contract.host import Doubt, ServiceHost
from chaoskit.contract.installed import nemesis
from chaoskit.contract.nemesis import ClientProcess, Nemesis, Strike, is_dark
from chaoskit.contract.service import Service
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.history.format.fault import Fault
from chaoskit.history.format.segment import HistoryFull, room_in
from chaoskit.run.ground import Ground
from chaoskit.run.held import Due
from chaoskit.run.occupancy import Claim, Occupancy, claim_of
from chaoskit.run.targeting import Targeting
from chaoskit.run.triggering import Triggers
from chaoskit.scenario.plan import Plan
from chaoskit.scenario.timeline import PlannedFault

_TURN_POLL_S = 0.05


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

    Attributes:
        problems: what went wrong, as sentences.
        active: the active faults, such as `kill on n1`, by number.
        due: those that are due, and have neither taken effect nor failed to.
        dropped: number of faults that never had their turn before the load ended.
        missed: why the run lacks faults that it should have had, as sentences.
        doubts: why faults that took effect and healed may have shown little, as sentences.
        all_healed: whether every fault that began was proved healed.
        full: why faults could not be recorded any more; all that were active have been healed then.
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
    ) -> None:
        self._plan = plan
        self._service = service
        self._lab = lab
        self._clients = {client.name: client for client in clients}
        self._folder = folder
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._in_system = in_system
        self._changed = changed
        self._triggers = triggers
        self._log = FaultLog(folder / "wal")
        self._lock = threading.Lock()
        self._owed: list[tuple[Fault, Callable[[], str]]] = []
        self._timeline: dict[int, dict[str, Any]] = {}
        self._stop = threading.Event()
        self._load_over = threading.Event()
        self._targeting = Targeting(plan, service, lab, in_system, self._stop)
        self._occupancy = Occupancy(list(self._targeting.nodes))
        self._threads: list[threading.Thread] = []
        self._limited: Counter[str] = Counter()
        self.all_healed = True
        self.full: HistoryFull | None = None
        self.dropped = 0
        self.missed: list[str] = []
        self.problems: list[str] = []
        self.doubts: list[str] = []
        self.active: dict[int, str] = {}
        self.due = Due()

    def start(self, load_start_ns: int) -> None:
        """Start the timeline; its times are relative to the start of the load."""
        for index, fault in enumerate(self._plan.faults):
            thread = threading.Thread(target=self._run, args=(index, fault, load_start_ns), daemon=True)
            thread.start()
            self._threads.append(thread)

    def load_is_over(self) -> None:
        """Drop the faults that are still waiting for their turn; active faults run to their end."""
        self._load_over.set()

    def heal_now(self) -> None:
        """Start no further faults and heal the active ones."""
        self._load_over.set()
        self._stop.set()

    def join(self) -> None:
        """Wait until every fault has ended and is healed."""
        for thread in self._threads:
            thread.join()
        for kind, dropped in self._limited.items():
            planned = sum(fault.kind == kind and _is_limited(fault) for fault in self._plan.faults)
            self.missed.append(f"{dropped} of {planned} {kind} were dropped: the load ended before their turn")
        self._settle()
        self._log.close()

    def _run(self, index: int, fault: PlannedFault, load_start_ns: int) -> None:
        due_ns = load_start_ns + fault.at_ns
        if self._load_over.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
            self._drop(index, fault)
            return
        record = Fault(index, fault.kind, self._now(), fault.on, fault.for_ns, fault.parameters)
        try:
            if fault.trigger is not None and not self._triggered(record, fault):
                self._drop(index, fault)
                return
            self.due.add(index, fault.kind)
            kind = nemesis(fault.kind)
            claim = claim_of(index, fault.kind, kind, kind.parameters.model_validate(fault.parameters))
            if targets := self._claim(claim, fault):
                self.due.begin(index)
                self._perform(record, kind, fault, targets, load_start_ns)
            else:
                self._drop(index, fault)
                return
        except Exception as error:  # noqa: BLE001  # a broken nemesis makes the run unknown, it does not end it
            self._note(record, f"no effect: {_words(error)}")
        finally:
            self.due.remove(index)
            self._occupancy.release(index)
        try:
            self._log.record(record.row())
        except HistoryFull as error:
            self._end(error)

    def _triggered(self, record: Fault, fault: PlannedFault) -> bool:
        """Wait for what a fault waits for; return whether it came true."""
        told = self._triggers.wait(fault, self._load_over) if self._triggers is not None else ""
        record.say(f"began once {told}" if told else "")
        return bool(told)

    def _end(self, error: HistoryFull) -> None:
        """End the faults: what cannot be recorded must not be done."""
        self.full = self.full or error
        self.heal_now()

    def _drop(self, index: int, fault: PlannedFault) -> None:
        """Note a fault whose turn never came. Those of a series, unless it repeats what happened, are told together."""
        with self._lock:
            self.dropped += 1
            if fault.trigger is not None:
                self.missed.append(f"{fault.kind} was dropped: what it waited for ({fault.trigger}) did not come true")
            elif _is_limited(fault):
                self._limited[fault.kind] += 1
            else:
                self.missed.append(f"{fault.kind} was dropped: the load ended before its turn")
        self._watcher.on(FaultDropped(index, fault.kind))

    def _perform(
        self, record: Fault, kind: Nemesis, fault: PlannedFault, targets: Sequence[str], load_start_ns: int
    ) -> None:
        strike = Strike(
            name=f"{record.number}-{fault.kind}",
            hosts=[self._targeting.hosts[name] for name in targets if name in self._targeting.hosts],
            nodes=[self._targeting.nodes[name] for name in targets if name in self._targeting.nodes],
            clients=[self._clients[name] for name in targets if name in self._clients],
            service=self._service,
            lab=self._lab,
            parameters=kind.parameters.model_validate(fault.parameters),
            seed=fault.seed,
            resolve=lambda name: self._targeting.resolve(name, fault.pick),
            in_system=self._in_system,
            doubt=lambda doubt: self._doubt(fault.kind, doubt),
            beside=lambda host: self._occupancy.beside(host.name, record.number),
        )
        record.targets = tuple(targets)
        ground = Ground(strike, self._lab, record.say)
        try:
            self._inject(record, kind, fault, strike, ground, load_start_ns)
        except HistoryFull as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001  # as above; what was injected in part is healed
            self._note(record, f"no effect: {_words(error)}")
        self._heal(record, kind, strike, ground)

    def _inject(  # noqa: PLR0917
        self, record: Fault, kind: Nemesis, fault: PlannedFault, strike: Strike, ground: Ground, load_start_ns: int
    ) -> None:
        record.start_ns = self._now()
        if self._triggers is not None:
            self._triggers.began(fault, record)
        self._log.record(record.row())
        self._record_timeline(record.number, fault, record.targets, record.start_ns + self._origin_ns - load_start_ns)
        self.active[record.number] = f"{fault.kind} on {strike.names}"
        self._changed()
        evidence = ground.stand(lambda: strike.hosts, partial(_made, kind, strike), partial(_remade, kind, strike))
        record.effective_ns = self._now()
        self.due.remove(record.number)
        if strike.hosts:
            record.targets = tuple(host.name for host in kind.struck(strike))
        record.damaged = tuple((self._in_history(topic), number) for topic, number in strike.damaged)
        record.say(evidence)
        self._log.record(record.row())
        self._changed()
        self._watcher.on(FaultProved(record.number, fault.kind, record.targets, evidence))
        self._hold(record, kind, strike, ground, record.start_ns + (fault.for_ns or 0))

    def _hold(self, record: Fault, kind: Nemesis, strike: Strike, ground: Ground, until_ns: int) -> None:
        """Wait until the fault is over; make it again where a boot has removed it."""
        while (left_ns := until_ns - self._now()) > 0 and not self._stop.wait(min(left_ns / 1e9, _TURN_POLL_S)):
            booted = {host.name for host in ground.booted()}
            if lost := [host for host in kind.carriers(strike) if host.name in booted]:
                self._renew(record, kind, strike, ground, lost)

    def _renew(self, record: Fault, kind: Nemesis, strike: Strike, ground: Ground, lost: Sequence[ServiceHost]) -> None:
        names, seen_ns = ", ".join(host.name for host in lost), self._now()
        act = partial(_renewed, kind, strike, lost)
        try:
            evidence = ground.stand(lambda: lost, act, act)
        except Exception as error:  # noqa: BLE001  # as above
            self._note(record, f"lost when {names} booted, and not made again: {_words(error)}")
        else:
            record.say(
                f"lost when {names} booted ({_seconds(seen_ns)}); made again ({_seconds(self._now())}): {evidence}"
            )

    def _heal(self, record: Fault, kind: Nemesis, strike: Strike, ground: Ground) -> None:
        record.heal_ns = self._now()
        try:
            evidence = self._healed(record, kind, strike, ground)
        except Exception as error:  # noqa: BLE001  # as above
            self.all_healed = False
            self._note(record, f"not healed: {_words(error)}")
        else:
            record.healed_ns = self._now()
            record.say(evidence)
            self._watcher.on(FaultHealed(record.number, record.kind, record.targets, evidence))
            self._owed += [(record, proof) for proof in strike.owed]
        self._changed()
        self.active.pop(record.number, None)

    def _healed(self, record: Fault, kind: Nemesis, strike: Strike, ground: Ground) -> str:
        """Heal a fault and prove it; again once no other fault holds beside it, if one prevents it."""
        act = partial(_undone, kind, strike)
        try:
            return ground.stand(lambda: [*strike.hosts, *kind.carriers(strike)], act, act)
        except ChaoskitError as error:
            others = _beside(strike)
            if not others:
                raise
            record.say(f"not healed while {', '.join(others)} held ({error})")
            while not self._occupancy.is_its_turn(record.number):
                time.sleep(_TURN_POLL_S)
            return act()

    def _settle(self) -> None:
        """Prove what could not be proved of a healing as long as another fault held."""
        for record, proof in self._owed:
            try:
                record.say(f"once no fault held: {proof()}")
            except Exception as error:  # noqa: BLE001  # as above
                self.all_healed = False
                record.healed_ns = None
                self._note(record, f"not healed: {_words(error)}")
            try:
                self._log.record(record.row())
            except HistoryFull as error:
                self._end(error)

    def _claim(self, claim: Claim, fault: PlannedFault) -> list[str]:
        """Return the names of the targets, claimed; empty if the load ended before the fault's turn."""
        while True:
            if claimed := self._take(claim, fault):
                return claimed
            if self._load_over.wait(_TURN_POLL_S):
                return []

    def _take(self, claim: Claim, fault: PlannedFault) -> list[str]:
        """Return the names of the targets, claimed; empty if a fault with a limit must wait.

        Raises:
            ChaoskitError: all targets are under a fault, and this fault does not wait.
        """
        hosts = self._targeting.hosts
        of_clients = set(fault.on) <= self._clients.keys()
        if not (of_clients or fault.overlap or self._occupancy.has_room(fault.at_most)):
            return []
        wanted: list[str] = []
        for target in fault.on:
            wanted += [target] if target in self._clients else self._targeting.named(target, fault.pick)
        without = [name for name in (*wanted, *fault.spare) if name in hosts and self._is_dark(hosts[name])]
        if self._load_over.is_set():
            return []
        return self._occupancy.take(claim, fault, wanted, without)

    def _is_dark(self, host: ServiceHost) -> bool:
        return is_dark(host, self._occupancy.beside(host.name, -1))

    def _in_history(self, topic: str) -> str:
        """Return the workload's name of a topic, or another one if it is not one of this trial."""
        namespace = self._in_system("")
        return topic.removeprefix(namespace) if topic.startswith(namespace) else f"system:{topic}"

    def _record_timeline(self, index: int, fault: PlannedFault, targets: Sequence[str], at_ns: int) -> None:
        with self._lock:
            self._timeline[index] = {**fault.as_spec(targets), "began": f"{at_ns / 1e9:.3f}s"}
            entries = [self._timeline[key] for key in sorted(self._timeline)]
            with room_in(self._folder):
                write_yaml(self._folder / TIMELINE, {"seed": self._plan.seed, "faults": entries})

    def _note(self, record: Fault, problem: str) -> None:
        record.say(problem)
        self.problems.append(f"{record.kind}: {problem}")
        self._watcher.on(FaultFailed(record.number, record.kind, problem))

    def _doubt(self, kind: str, doubt: Doubt) -> None:
        at_s = (doubt.at_ns - self._origin_ns) / 1e9
        self.doubts.append(f"{kind}: {doubt.event} at {at_s:.1f} s: {doubt.consequence}")

    def _now(self) -> int:
        return time.monotonic_ns() - self._origin_ns


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, ChaoskitError) else f"bug in the nemesis: {error!r}"


def _seconds(at_ns: int) -> str:
    return f"{at_ns / 1e9:.1f} s"


def _is_limited(fault: PlannedFault) -> bool:
    """Return whether a fault is one of a series that waits for its turn."""
    return fault.at_most is not None and not fault.repeats


def _made(kind: Nemesis, strike: Strike) -> str:
    kind.inject(strike)
    return kind.verify(strike)


def _remade(kind: Nemesis, strike: Strike) -> str:
    kind.heal(strike)
    return _made(kind, strike)


def _renewed(kind: Nemesis, strike: Strike, lost: Sequence[ServiceHost]) -> str:
    kind.renew(strike, lost)
    return kind.verify(strike)


def _undone(kind: Nemesis, strike: Strike) -> str:
    strike.owed.clear()
    kind.heal(strike)
    return kind.verify_healed(strike)


def _beside(strike: Strike) -> list[str]:
    """Return the other faults that hold on a target now."""
    return list(dict.fromkeys(other for host in strike.hosts for other in strike.beside(host)))
