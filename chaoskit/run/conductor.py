"""Injects the faults of a run on schedule, proves each, heals each, and records each.

Each fault has its own thread, so that a slow one does not delay others. A target that is under a fault is
not targeted by a second one: a randomly drawn target is replaced by the next one drawn; otherwise the fault
applies to its other targets, or, if none is left, is recorded as ineffective. A fault with a limit
(`at_most`), which every fault of a series has, instead waits until its targets are free and the limit
permits it; if it is still waiting when the load ends, it is dropped.
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
from chaoskit.contract.host import Doubt, ServiceHost
from chaoskit.contract.installed import nemesis
from chaoskit.contract.nemesis import ClientProcess, Nemesis, Strike
from chaoskit.history.audits import Place
from chaoskit.history.faults import FaultLog
from chaoskit.history.segment import HistoryFull, room_in
from chaoskit.scenario.plan import Plan
from chaoskit.scenario.timeline import PlannedFault

_FIND_ATTEMPTS_S = 10
"""How long a role may be vacant before its fault fails."""

_TURN_POLL_S = 0.05

_COLLECTIVE = ("isr", "ensemble")
"""Roles that mean all their holders, like roles with plural names."""


class Conductor:
    """Executes the timeline of one run.

    Args:
        plan: the plan with the faults.
        cluster: the cluster that they target.
        clients: the workload's clients that they target.
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC; recorded times are relative to it.
        watcher: notified of each change.
        in_system: maps a workload topic to its name in the system.
        changed: called when a fault is about to begin, was proved, or was healed.

    Attributes:
        problems: what went wrong, as sentences.
        active: the active faults, such as `kill on n1`, by number.
        dropped: number of faults that never had their turn before the load ended.
        missed: those of them that are no fault of a series with a limit, as sentences.
        doubts: why faults that took effect and healed may have shown little, as sentences.
        all_healed: whether every fault that began was proved healed.
        full: why faults could not be recorded any more; all that were active have been healed then.
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
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._plan = plan
        self._cluster = cluster
        self._hosts: dict[str, ServiceHost] = {host.name: host for host in cluster.hosts}
        self._clients = {client.name: client for client in clients}
        self._folder = folder
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._in_system = in_system
        self._changed = changed
        self._log = FaultLog(folder / "wal")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._timeline: dict[int, dict[str, Any]] = {}
        self._stop = threading.Event()
        self._load_over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.all_healed = True
        self.full: HistoryFull | None = None
        self.dropped = 0
        self.missed: list[str] = []
        self.problems: list[str] = []
        self.doubts: list[str] = []
        self.active: dict[int, str] = {}

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
        self._log.close()

    def _run(self, index: int, fault: PlannedFault, load_start_ns: int) -> None:
        due_ns = load_start_ns + fault.at_ns
        if self._load_over.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
            self._drop(index, fault)
            return
        row = _Row(index, fault, self._now())
        targets: list[str] = []
        try:
            targets = self._claim(fault)
            if targets:
                self._perform(row, fault, targets, load_start_ns)
            else:
                self._drop(index, fault)
                return
        except Exception as error:  # noqa: BLE001  # a broken nemesis makes the run unknown, it does not end it
            self._note(row, f"no effect: {_words(error)}")
        finally:
            self._release(targets)
        try:
            self._log.record(row.content)
        except HistoryFull as error:
            self._end(error)

    def _end(self, error: HistoryFull) -> None:
        """End the faults: what cannot be recorded must not be done."""
        self.full = self.full or error
        self.heal_now()

    def _drop(self, index: int, fault: PlannedFault) -> None:
        """Note a fault whose turn never came; only of a series with a limit is that to be expected."""
        with self._lock:
            self.dropped += 1
            if fault.at_most is None:
                self.missed.append(f"{fault.kind} was dropped: the load ended before its turn")
        self._watcher.on(FaultDropped(index, fault.kind))

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
            doubt=lambda doubt: self._doubt(fault.kind, doubt),
        )
        row.content["targets"] = list(targets)
        try:
            self._inject(row, kind, fault, strike, load_start_ns)
        except HistoryFull as error:
            self._end(error)
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
        self._changed()
        kind.inject(strike)
        evidence = kind.verify(strike)
        row.content["effective_ns"] = self._now()
        row.damaged([(self._in_history(topic), number) for topic, number in strike.damaged])
        row.say(evidence)
        self._log.record(row.content)
        self._changed()
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
        self._changed()
        self.active.pop(row.index, None)

    def _claim(self, fault: PlannedFault) -> list[str]:
        """Return the names of the targets, marked as busy; empty if the load ended before the fault's turn."""
        everyone = self._hosts.keys() | self._clients.keys()
        while True:
            if claimed := self._take(fault, everyone):
                return claimed
            if self._load_over.wait(_TURN_POLL_S):
                return []

    def _take(self, fault: PlannedFault, everyone: Collection[str]) -> list[str]:
        """Return the names of the targets, marked as busy; empty if a fault with a limit must wait.

        Raises:
            ChaoskitError: all targets are under a fault, and this fault does not wait.
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
                raise ChaoskitError(f"already under a fault: {', '.join(wanted)}")
            hosts = [name for name in chosen if name in self._hosts]
            if fault.at_most is not None and (
                len(chosen) < len(distinct) or not self._may_begin(fault.at_most, len(hosts))
            ):
                return []
            self._busy.update(chosen)
        return chosen

    def _may_begin(self, at_most: int | None, count: int) -> bool:
        """Return whether a fault on `count` hosts stays within the limit; a fault on its own may exceed it."""
        busy = len(self._busy & self._hosts.keys())
        return at_most is None or busy == 0 or count == 0 or busy + count <= at_most

    def _release(self, targets: Sequence[str]) -> None:
        with self._lock:
            self._busy.difference_update(targets)

    def _resolve(self, name: str, pick: float) -> list[ServiceHost]:
        """Resolve a host name, `all` or a role to hosts."""
        if name == "all":
            return list(self._cluster.hosts)
        names = [name] if name in self._hosts else self._holders(name, pick)
        return [self._hosts[each] for each in names]

    def _holders(self, target: str, pick: float) -> list[str]:
        """Return the hosts that hold a role, such as `leader` or `leader:log-0/2`; wait while it is vacant."""
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
            raise ChaoskitError(f"no host holds the role {target}")
        plural = role.endswith("s") or role in _COLLECTIVE
        return list(holders) if plural else [holders[int(pick * len(holders))]]

    def _place(self, where: str) -> Place | None:
        """Return the partition in a target, by its name in the system; by default the workload's first one."""
        if where:
            topic, _, partition = where.rpartition("/")
            return self._in_system(topic), int(partition)
        topics = self._plan.declared.topics
        return (self._in_system(topics[0].name), 0) if topics else None

    def _in_history(self, topic: str) -> str:
        """Return the workload's name of a topic, or another one if it is not one of this trial."""
        namespace = self._in_system("")
        return topic.removeprefix(namespace) if topic.startswith(namespace) else f"system:{topic}"

    def _record_timeline(self, index: int, fault: PlannedFault, targets: list[str], at_ns: int) -> None:
        with self._lock:
            self._timeline[index] = {**fault.as_spec(targets), "began": f"{at_ns / 1e9:.3f}s"}
            entries = [self._timeline[key] for key in sorted(self._timeline)]
            with room_in(self._folder):
                write_yaml(self._folder / TIMELINE, {"seed": self._plan.seed, "faults": entries})

    def _note(self, row: _Row, problem: str) -> None:
        row.say(problem)
        self.problems.append(f"{row.content['kind']}: {problem}")
        self._watcher.on(FaultFailed(row.index, row.content["kind"], problem))

    def _doubt(self, kind: str, doubt: Doubt) -> None:
        at_s = (doubt.at_ns - self._origin_ns) / 1e9
        self.doubts.append(f"{kind}: {doubt.event} at {at_s:.1f} s: {doubt.consequence}")

    def _now(self) -> int:
        return time.monotonic_ns() - self._origin_ns


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, ChaoskitError) else f"bug in the nemesis: {error!r}"


class _Row:
    """The row of a fault in the history, filled in step by step."""

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

    def damaged(self, partitions: Sequence[Place]) -> None:
        """Add the partitions that it damaged, and nothing else, to its parameters."""
        if partitions:
            parameters = json.loads(self.content["parameters"])
            self.content["parameters"] = json.dumps({**parameters, "damaged": sorted(set(partitions))})

    def say(self, text: str) -> None:
        """Add to the evidence."""
        self.content["evidence"] = "; ".join(filter(None, [self.content["evidence"], text]))
