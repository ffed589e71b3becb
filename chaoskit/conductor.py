"""Makes the faults of a run happen at their times, proves each, heals each, writes each down.

One thread for each fault, so that a slow one delays no other. A host that is under a fault is not hit
by a second one: one that the seed drew is replaced by the next host drawn; otherwise the fault goes to
its other targets, or, without any left, is recorded as ineffective.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.cluster import Cluster, Effect
from chaoskit.errors import ChaoskitError
from chaoskit.history.faults import FaultLog
from chaoskit.host import ServiceHost
from chaoskit.nemesis import Nemesis
from chaoskit.plan import Plan
from chaoskit.store import TIMELINE, write_yaml
from chaoskit.timeline import PlannedFault

_FIND_ATTEMPTS_S = 10
"""How long a role may be vacant before its fault is given up."""


class Conductor:
    """Runs the timeline of one run.

    Args:
        plan: with the faults.
        cluster: that they hit.
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC; recorded times count from here.
        tell: called with a line for the user at each change.
    """

    def __init__(self, plan: Plan, cluster: Cluster, folder: Path, origin_ns: int, tell: Callable[[str], None]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._folder = folder
        self._origin_ns = origin_ns
        self._tell = tell
        self._log = FaultLog(folder / "wal")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._timeline: dict[int, dict[str, Any]] = {}
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.problems: list[str] = []
        self.active: dict[int, str] = {}

    def start(self, load_start_ns: int) -> None:
        """Start the timeline; its times count from the start of the load."""
        for index, fault in enumerate(self._plan.faults):
            thread = threading.Thread(target=self._run, args=(index, fault, load_start_ns), daemon=True)
            thread.start()
            self._threads.append(thread)

    def heal_now(self) -> None:
        """Begin no further fault and heal those that hold."""
        self._stop.set()

    def join(self) -> None:
        """Wait until every fault is over and healed."""
        for thread in self._threads:
            thread.join()
        self._log.close()

    def _run(self, index: int, fault: PlannedFault, load_start_ns: int) -> None:
        due_ns = load_start_ns + fault.at_ns
        if self._stop.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
            return
        nemesis = self._plan.nemesis(fault.kind)
        row = _Row(index, fault, self._now())
        targets: list[ServiceHost] = []
        try:
            targets = self._claim(fault)
            self._inject(row, nemesis, fault, targets, load_start_ns)
        except Exception as error:  # noqa: BLE001  # a broken nemesis makes the run unknown, it does not end it
            self._note(row, f"no effect: {_words(error)}")
        if targets:
            self._heal(row, nemesis, fault, targets)
        self._release(targets)
        self._log.record(row.content)

    def _inject(
        self, row: _Row, nemesis: Nemesis, fault: PlannedFault, targets: list[ServiceHost], load_start_ns: int
    ) -> None:
        names = [host.name for host in targets]
        row.content["targets"] = names
        row.content["start_ns"] = self._now()
        self._log.record(row.content)
        self._record_timeline(row.index, fault, names, row.content["start_ns"] + self._origin_ns - load_start_ns)
        self.active[row.index] = f"{fault.kind} on {', '.join(names)}"
        parameters = nemesis.parameters.model_validate(fault.parameters)
        nemesis.inject(targets, self._cluster, parameters)
        evidence = nemesis.verify(targets, self._cluster, parameters)
        row.content["effective_ns"] = self._now()
        row.say(evidence)
        self._log.record(row.content)
        self._tell(f"{fault.kind} on {', '.join(names)}: {evidence}")
        held_ns = row.content["start_ns"] + (fault.for_ns or 0) - self._now()
        self._stop.wait(max(0.0, held_ns / 1e9))

    def _heal(self, row: _Row, nemesis: Nemesis, fault: PlannedFault, targets: list[ServiceHost]) -> None:
        row.content["heal_ns"] = self._now()
        names = ", ".join(host.name for host in targets)
        parameters = nemesis.parameters.model_validate(fault.parameters)
        try:
            nemesis.heal(targets, self._cluster, parameters)
            evidence = nemesis.verify_healed(targets, self._cluster, parameters)
        except Exception as error:  # noqa: BLE001  # as above
            self._note(row, f"not healed: {_words(error)}")
        else:
            row.content["healed_ns"] = self._now()
            row.say(evidence)
            self._tell(f"healed {fault.kind} on {names}: {evidence}")
        self.active.pop(row.index, None)

    def _claim(self, fault: PlannedFault) -> list[ServiceHost]:
        """Return the hosts to hit, marked as busy."""
        by_name = {host.name: host for host in self._cluster.hosts}
        wanted: list[str] = []
        for target in fault.on:
            wanted += [target] if target in by_name else self._holders(target, fault.pick)
        with self._lock:
            distinct = list(dict.fromkeys(wanted))
            candidates = [name for name in dict.fromkeys((*distinct, *fault.spare)) if name not in self._busy]
            free = candidates[: len(distinct)]
            if not free:
                raise ChaoskitError(f"{', '.join(wanted)} already under a fault")
            self._busy.update(free)
        return [by_name[name] for name in free]

    def _release(self, targets: Sequence[ServiceHost]) -> None:
        with self._lock:
            self._busy.difference_update(host.name for host in targets)

    def _holders(self, target: str, pick: float) -> list[str]:
        """Return the hosts that hold a role, such as `leader` or `leader:log-0/2`, waiting while it is vacant."""
        role, _, where = target.partition(":")
        topics = self._plan.workload.topics(self._plan.workload_options, self._plan.declared.brokers)
        topic, _, partition = where.partition("/")
        deadline = time.monotonic() + _FIND_ATTEMPTS_S
        while True:
            try:
                holders = self._cluster.find(role, topic or topics[0].name, int(partition or 0))
                break
            except ChaoskitError:
                if time.monotonic() > deadline or self._stop.wait(0.05):
                    raise
        plural = role.endswith("s") or role == "isr"
        return list(holders) if plural else [holders[int(pick * len(holders))]]

    def _record_timeline(self, index: int, fault: PlannedFault, hosts: list[str], at_ns: int) -> None:
        with self._lock:
            self._timeline[index] = {**fault.as_spec(hosts), "began": f"{at_ns / 1e9:.3f}s"}
            entries = [self._timeline[key] for key in sorted(self._timeline)]
            write_yaml(self._folder / TIMELINE, {"seed": self._plan.seed, "faults": entries})

    def _note(self, row: _Row, problem: str) -> None:
        row.say(problem)
        self.problems.append(f"{row.content['kind']}: {problem}")
        self._tell(f"{row.content['kind']}: {problem}")

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


def effects(faults: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """Return the recorded faults that took effect."""
    return [
        Effect(row["kind"], tuple(row["targets"]), row["start_ns"], row["healed_ns"])
        for row in faults
        if row["effective_ns"] is not None
    ]
