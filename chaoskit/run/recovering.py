"""Whether the healed system works again: complete, probed, read, and its groups served."""

from __future__ import annotations

import time
from typing import Any

from chaoskit.contract.event import PhaseBegun, Watcher
from chaoskit.contract.hosts.host import HostError
from chaoskit.contract.systems.database import DatabaseServer
from chaoskit.contract.systems.service import Service, ServiceError
from chaoskit.contract.workloads.traits import Group
from chaoskit.contract.workloads.workload import DRAINER, ClientReport, Task
from chaoskit.model.operation import AUDITOR
from chaoskit.run.application.instances import Instances
from chaoskit.run.client import Client
from chaoskit.run.fleet import STOP_TIMEOUT_S, Fleet
from chaoskit.run.groups import ClientGroup, await_probes
from chaoskit.run.interruption import INTERRUPTED, Interruption
from chaoskit.scenario.plan import Plan

_LOOK_S = 0.2
_QUIET_S = 2.0
"""Once an application has settled everything, what it still writes comes within this time."""

_AUDITOR_STOPS_S = 8
_AUDIT_TIMEOUT_S = 600
_READ_PER_S = 1000
"""A final read that is slower than this is ended, after the time above."""


class Recovering:
    """The phase of a trial after its faults are healed.

    Args:
        plan: the plan.
        service: the system.
        database: the database of the application under test; None: there is none.
        watcher: receives the events.
        interrupted: set when the user interrupts the run.
        problems: what went wrong is added to these, as sentences.
    """

    def __init__(
        self,
        plan: Plan,
        service: Service,
        watcher: Watcher,
        interrupted: Interruption,
        problems: list[str],
        *,
        database: DatabaseServer | None = None,
    ) -> None:
        self._plan = plan
        self._service = service
        self._watcher = watcher
        self._interrupted = interrupted
        self._problems = problems
        self._database = database

    def wait(
        self, fleet: Fleet, producers: list[Client], consumers: list[Client], application: Instances | None
    ) -> dict[str, Any]:
        """Wait until the healed cluster is complete, probe it, read everything, and wait for a group.

        Returns:
            How that went, as in recovery.json.
        """
        self._watcher.on(PhaseBegun("recover"))
        bound_ns = self._plan.scenario.recovery
        began = time.monotonic()
        try:
            self._service.wait_ready(bound_ns / 1e9)
            if self._database is not None:
                self._database.wait_ready(bound_ns / 1e9)
            whole, why = True, ""
        except (ServiceError, HostError) as error:
            whole, why = False, str(error)
        took_s = time.monotonic() - began
        self._problems += fleet.join(producers, STOP_TIMEOUT_S)
        drained: ClientReport = {}
        if any(topic.model.gives_back for topic in self._plan.declared.topics):
            # What was delivered to a consumer and not settled is back in its queue once the consumer is gone.
            if application is not None:
                drained = self._end_application(application, fleet, consumers)
            fleet.stop(consumers)
            self._problems += fleet.join(consumers, STOP_TIMEOUT_S)
            self._problems += [doubt for client in consumers if (doubt := client.worker.result.get("doubt"))]
        self._watcher.on(PhaseBegun("final read"))
        auditors = self._read_finally(fleet)
        result: ClientReport = {**drained, **auditors[0].worker.result}
        if unread := result.get("why"):
            self._problems.append(f"final read: {unread}")
        accepted = result.get("accepted", False)
        if whole and not accepted:
            why = "a partition did not accept a message"
        liveness = {"recovered": whole and accepted, "bound_s": bound_ns / 1e9, "took_s": round(took_s, 3), "why": why}
        if groups := self._groups():
            members = [consumers[number::groups] for number in range(groups)]
            liveness["group"] = self._await_groups(members, auditors)
        return liveness

    def _end_application(self, application: Instances, fleet: Fleet, consumers: list[Client]) -> ClientReport:
        """End the application once it has worked on its last inputs, at most after twice the bound; return what the
        client reported that sent them."""
        self._watcher.on(PhaseBegun("last inputs"))
        bound_s = self._plan.scenario.recovery / 1e9
        drainers = self._run_last(DRAINER, fleet, bound_s + _AUDITOR_STOPS_S)
        deadline = time.monotonic() + bound_s
        received, since = -1, time.monotonic()
        while not self._interrupted.is_set() and time.monotonic() < deadline:
            held = sum(client.worker.result.get("held", 0) for client in consumers)
            if held or fleet.progress().received != received:
                received, since = fleet.progress().received, time.monotonic()
            elif time.monotonic() > since + _QUIET_S:  # only a look tells: a busy machine may be late for the next one
                break
            self._interrupted.wait(_LOOK_S)
        self._problems += application.stop()
        # What its last connections show is read by clients that look a few times a second.
        self._interrupted.wait(_LOOK_S)
        return drainers[0].worker.result

    def _read_finally(self, fleet: Fleet) -> list[Client]:
        """Read everything; who interrupts that gets what was read so far. Return the clients that did it."""
        return self._run_last(AUDITOR, fleet, _AUDIT_TIMEOUT_S + fleet.progress().acked / _READ_PER_S)

    def _run_last(self, role: str, fleet: Fleet, timeout_s: float) -> list[Client]:
        """Run a client to its end; return it, in a list."""
        earlier = self._interrupted.is_set()
        auditors = fleet.launch([Task(role, 0)])
        fleet.go(auditors)
        deadline = time.monotonic() + timeout_s
        while not earlier and time.monotonic() < deadline and any(client.running() for client in auditors):
            if self._interrupted.wait(_LOOK_S):
                self._problems.append(INTERRUPTED)
                fleet.stop(auditors)
                deadline = time.monotonic() + _AUDITOR_STOPS_S
                break
        self._problems += fleet.join(auditors, max(0.0, deadline - time.monotonic()))
        return auditors

    def _groups(self) -> int:
        group = self._plan.declared.get(Group)
        return 0 if group is None else group.count

    def _await_groups(self, members: list[list[Client]], auditors: list[Client]) -> dict[str, Any] | None:
        """Wait for every group to receive the probes; return how far they got, or None if that cannot be judged."""
        self._watcher.on(PhaseBegun("group"))
        wanted, bound_s = sorted(ClientGroup(auditors).probed()), self._plan.scenario.recovery / 1e9
        groups = [ClientGroup(member) for member in members]
        group = await_probes(groups, wanted, bound_s, self._interrupted) if wanted else None
        if group is None:
            self._problems.append("the run does not show whether the group receives messages after healing")
        return group
