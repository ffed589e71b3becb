"""Makes the faults of a run happen at their times, proves each, heals each, writes each down.

One thread for each fault, so that a slow one delays no other. A target that is under a fault is not hit
by a second one: one that the seed drew is replaced by the next one drawn; otherwise the fault goes to
its other targets, or, without any left, is recorded as ineffective. A fault with a limit (`at_most`), as
all of a series have, waits instead until its targets are free and the limit is kept; one that still waits
when the load ends is dropped.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.store import TIMELINE, write_yaml
from chaoskit.contract.cluster import Cluster
from chaoskit.contract.event import FaultDropped, FaultFailed, FaultHealed, FaultProved, Watcher
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.installed import nemesis
from chaoskit.contract.nemesis import ClientProcess, Nemesis, Strike
from chaoskit.history.audits import Place
from chaoskit.history.faults import FaultLog
from chaoskit.scenario.plan import Plan
from chaoskit.scenario.timeline import PlannedFault

_FIND_ATTEMPTS_S = 10
"""How long a role may be vacant before its fault is given up."""

_TURN_POLL_S = 0.05

_COLLECTIVE = ("isr", "ensemble")
"""Roles that mean all who hold them, as those whose names are plurals."""


class Conductor:
    """Runs the timeline of one run.

    Args:
        plan: with the faults.
        cluster: that they hit.
        clients: of the workload, that they hit.
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC; recorded times count from here.
        watcher: told of each change.
        in_system: the name that a topic of the workload has in the system.

    Attributes:
        problems: what went wrong, in sentences.
        active: the faults that hold, such as `kill on n1`, by number.
        all_healed: whether every fault that was begun was seen to be healed.
    """

    def __init__(
        self,
        plan: Plan,
        cluster: Cluster,
        clients: Sequence[ClientProcess],
        folder: Path,
        *,
        origin_ns: int,
        watcher: Watcher,
        in_system: Callable[[str], str] = str,
    ) -> None:
        self._plan = plan
        self._cluster = cluster
        self._hosts: dict[str, ServiceHost] = {host.name: host for host in cluster.hosts}
        self._clients = {client.name: client for client in clients}
        self._folder = folder
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._in_system = in_system
        self._log = FaultLog(folder / "wal")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._timeline: dict[int, dict[str, Any]] = {}
        self._stop = threading.Event()
        self._load_over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.all_healed = True
        self.problems: list[str] = []
        self.active: dict[int, str] = {}

    def start(self, load_start_ns: int) -> None:
        """Start the timeline; its times count from the start of the load."""
        for index, fault in enumerate(self._plan.faults):
            thread = threading.Thread(target=self._run, args=(index, fault, load_start_ns), daemon=True)
            thread.start()
            self._threads.append(thread)

    def load_is_over(self) -> None:
        """Drop the faults that still wait for their turn; those that hold are held to their end."""
        self._load_over.set()

    def heal_now(self) -> None:
        """Begin no further fault and heal those that hold."""
        self._load_over.set()
        self._stop.set()

    def join(self) -> None:
        """Wait until every fault is over and healed."""
        for thread in self._threads:
            thread.join()
        self._log.close()

    def _run(self, index: int, fault: PlannedFault, load_start_ns: int) -> None:
        due_ns = load_start_ns + fault.at_ns
        if self._load_over.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
            return
        row = _Row(index, fault, self._now())
        targets: list[str] = []
        try:
            targets = self._claim(fault)
            if targets:
                self._perform(row, fault, targets, load_start_ns)
            else:
                self._watcher.on(FaultDropped(index, fault.kind))
                return
        except Exception as error:  # noqa: BLE001  # a broken nemesis makes the run unknown, it does not end it
            self._note(row, f"no effect: {_words(error)}")
        finally:
            self._release(targets)
        self._log.record(row.content)

    def _perform(self, row: _Row, fault: PlannedFault, targets: Sequence[str], load_start_ns: int) -> None:
        kind = nemesis(fault.kind)
        strike = Strike(
            name=f"{row.index}-{fault.kind}",
            hosts=[self._hosts[name] for name in targets if name in self._hosts],
            clients=[self._clients[name] for name in targets if name in self._clients],
            cluster=self._cluster,
            parameters=kind.parameters.model_validate(fault.parameters),
            seed=fault.seed,
            resolve=lambda name: self._resolve(name, fault.pick),
            in_system=self._in_system,
        )
        row.content["targets"] = list(targets)
        try:
            self._inject(row, kind, fault, strike, load_start_ns)
        except Exception as error:  # noqa: BLE001  # as above; what was injected in part is healed
            self._note(row, f"no effect: {_words(error)}")
        self._heal(row, kind, strike)

    def _inject(self, row: _Row, kind: Nemesis, fault: PlannedFault, strike: Strike, load_start_ns: int) -> None:
        row.content["start_ns"] = self._now()
        self._log.record(row.content)
        self._record_timeline(
            row.index, fault, row.content["targets"], row.content["start_ns"] + self._origin_ns - load_start_ns
        )
        self.active[row.index] = f"{fault.kind} on {strike.names}"
        kind.inject(strike)
        evidence = kind.verify(strike)
        row.content["effective_ns"] = self._now()
        row.say(evidence)
        self._log.record(row.content)
        self._watcher.on(FaultProved(row.index, fault.kind, tuple(row.content["targets"]), evidence))
        held_ns = row.content["start_ns"] + (fault.for_ns or 0) - self._now()
        self._stop.wait(max(0.0, held_ns / 1e9))

    def _heal(self, row: _Row, kind: Nemesis, strike: Strike) -> None:
        row.content["heal_ns"] = self._now()
        try:
            kind.heal(strike)
            evidence = kind.verify_healed(strike)
        except Exception as error:  # noqa: BLE001  # as above
            self.all_healed = False
            self._note(row, f"not healed: {_words(error)}")
        else:
            row.content["healed_ns"] = self._now()
            row.say(evidence)
            self._watcher.on(FaultHealed(row.index, row.content["kind"], tuple(row.content["targets"]), evidence))
        self.active.pop(row.index, None)

    def _claim(self, fault: PlannedFault) -> list[str]:
        """Return the names of the targets to hit, marked as busy; none if the load ended before their turn came."""
        everyone = self._hosts.keys() | self._clients.keys()
        while True:
            if claimed := self._take(fault, everyone):
                return claimed
            if self._load_over.wait(_TURN_POLL_S):
                return []

    def _take(self, fault: PlannedFault, everyone: Collection[str]) -> list[str]:
        """Return the names of the targets, marked as busy, or none if a fault with a limit has to wait.

        Raises:
            ChaoskitError: all are under a fault, and this one does not wait.
        """
        of_clients = set(fault.on) <= self._clients.keys()
        if not of_clients and not self._may_begin(fault.at_most, 1):
            return []
        wanted: list[str] = []
        for target in fault.on:
            wanted += [target] if target in everyone else [host.name for host in self._resolve(target, fault.pick)]
        distinct = list(dict.fromkeys(wanted))
        with self._lock:
            if self._load_over.is_set():
                return []
            free = [name for name in dict.fromkeys((*distinct, *fault.spare)) if name not in self._busy]
            chosen = free[: len(distinct)]
            if fault.at_most is None and not chosen:
                raise ChaoskitError(f"{', '.join(wanted)} already under a fault")
            hosts = [name for name in chosen if name in self._hosts]
            if fault.at_most is not None and (
                len(chosen) < len(distinct) or not self._may_begin(fault.at_most, len(hosts))
            ):
                return []
            self._busy.update(chosen)
        return chosen

    def _may_begin(self, at_most: int | None, count: int) -> bool:
        """Return whether a fault on so many hosts keeps the limit; one alone may exceed it, as it was asked to."""
        busy = len(self._busy & self._hosts.keys())
        return at_most is None or busy == 0 or count == 0 or busy + count <= at_most

    def _release(self, targets: Sequence[str]) -> None:
        with self._lock:
            self._busy.difference_update(targets)

    def _resolve(self, name: str, pick: float) -> list[ServiceHost]:
        """Return the hosts of a host name, of `all` or of a role."""
        if name == "all":
            return list(self._cluster.hosts)
        names = [name] if name in self._hosts else self._holders(name, pick)
        return [self._hosts[each] for each in names]

    def _holders(self, target: str, pick: float) -> list[str]:
        """Return the hosts that hold a role, such as `leader` or `leader:log-0/2`, waiting while it is vacant."""
        role, _, where = target.partition(":")
        place = self._place(where)
        deadline = time.monotonic() + _FIND_ATTEMPTS_S
        while True:
            try:
                holders = self._cluster.find(role, place)
                break
            except ChaoskitError:
                if time.monotonic() > deadline or self._stop.wait(0.05):
                    raise
        if not holders:
            raise ChaoskitError(f"nobody holds {target}")
        plural = role.endswith("s") or role in _COLLECTIVE
        return list(holders) if plural else [holders[int(pick * len(holders))]]

    def _place(self, where: str) -> Place | None:
        """Return the partition that a target names, by its name in the system; without one the workload's first."""
        if where:
            topic, _, partition = where.rpartition("/")
            return self._in_system(topic), int(partition)
        topics = self._plan.declared.topics
        return (self._in_system(topics[0].name), 0) if topics else None

    def _record_timeline(self, index: int, fault: PlannedFault, targets: list[str], at_ns: int) -> None:
        with self._lock:
            self._timeline[index] = {**fault.as_spec(targets), "began": f"{at_ns / 1e9:.3f}s"}
            entries = [self._timeline[key] for key in sorted(self._timeline)]
            write_yaml(self._folder / TIMELINE, {"seed": self._plan.seed, "faults": entries})

    def _note(self, row: _Row, problem: str) -> None:
        row.say(problem)
        self.problems.append(f"{row.content['kind']}: {problem}")
        self._watcher.on(FaultFailed(row.index, row.content["kind"], problem))

    def _now(self) -> int:
        return time.monotonic_ns() - self._origin_ns


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, ChaoskitError) else f"defect in the nemesis: {error!r}"


class _Row:
    """A fault's row in the history while it is being filled in."""

    def __init__(self, index: int, fault: PlannedFault, start_ns: int) -> None:
        self.index = index
        self.content: dict[str, Any] = {
            "fault": index,
            "kind": fault.kind,
            "targets": [],
            "parameters": json.dumps({"on": fault.on, "for_ns": fault.for_ns, **fault.parameters}),
            "start_ns": start_ns,
            "effective_ns": None,
            "heal_ns": None,
            "healed_ns": None,
            "evidence": "",
        }

    def say(self, text: str) -> None:
        """Add to the evidence."""
        self.content["evidence"] = "; ".join(filter(None, [self.content["evidence"], text]))
