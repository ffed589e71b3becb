"""A live trial: topics of its own on a deployment, faults when its caller says so, a verdict on what was recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.contract.event import PhaseBegun, Problem, Watcher
from chaoskit.contract.hosts.host import HostError
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.systems.service import Endpoints, ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.compacting.finish import finish
from chaoskit.history.format.origin import read_run_id
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.run.deployment import Deployment, collect_logs
from chaoskit.run.faults.restoring import restores
from chaoskit.run.live.courses import aim, new_course
from chaoskit.run.live.faults import LiveFault, LiveFaults
from chaoskit.run.live.final_read import read_all
from chaoskit.run.live.history import LiveHistory
from chaoskit.run.live.plans import LivePlan
from chaoskit.run.survey import Survey
from chaoskit.run.tenancy import Tenancy


class LiveTrial:
    """A live trial.

    Args:
        plan: what it is to be.
        deployment: the deployment to use; its system is started.
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC.
        watcher: receives the events.

    Attributes:
        folder: the run folder.
        history: records what the clients of others do.
        plan: what it is by now.
    """

    def __init__(
        self, plan: LivePlan, deployment: Deployment, folder: Path, *, origin_ns: int, watcher: Watcher
    ) -> None:
        self.folder: Path = folder
        self.plan: LivePlan = plan
        self._deployment = deployment
        self._service = deployment.service
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._tenancy = Tenancy(plan.now, deployment, folder, watcher)
        self._tenancy.begin()
        self._survey = Survey(self._service, folder / "wal", origin_ns, self._tenancy.in_history)
        self._course = new_course(
            plan.now, deployment, self._tenancy, folder, origin_ns=origin_ns, watcher=watcher, changed=self._survey.soon
        )
        self._faults = LiveFaults(self._course)
        self._liveness: dict[str, Any] | None = None
        self._problems: list[str] = []
        self._run_id = read_run_id(folder / "wal")
        self.history: LiveHistory = LiveHistory(folder, self._run_id, self.topic_of, plan.source)
        # For the case that the caller is killed; replaced when it is judged.
        begun = {"recovered": None, "load_start_ns": self._course.load_start_ns - origin_ns}
        store.write_json(folder / store.RECOVERY, begun)
        self._survey.start()

    @property
    def endpoints(self) -> str:
        """Where clients connect; raises BadInput if the system does not say."""
        endpoints = optional(self._service, Endpoints)
        if endpoints is None:
            system = self.plan.now.scenario.cluster.system
            raise BadInput(f"{self.plan.source}.endpoints: {system} does not say where clients of others connect yet")
        return endpoints.endpoints()

    @property
    def clients(self) -> Powered:
        """Clients of the system for this process."""
        return self.plan.now.system.clients(self._service.client_settings())

    @property
    def active(self) -> tuple[str, ...]:
        """The faults that hold now, such as `kill on n1`."""
        return self._faults.active

    @property
    def restored(self) -> bool:
        """Whether the deployment is in its original state, as far as that is known."""
        recovered = self._liveness is not None and self._liveness["recovered"]
        return (
            bool(recovered) and self._course.all_healed and all(restores(fault.planned) for fault in self._faults.all)
        )

    def in_system(self, topic: str) -> str:
        """Return the name in the system of a topic that was made."""
        return self._tenancy.in_system(topic)

    def topic_of(self, name: str) -> Topic:
        """Return a topic, by its name here or in the system; raises BadInput if it was not made."""
        return self.plan.topic(self._tenancy.in_history(name))

    def collect_logs(self) -> Path:
        """Copy what the processes have logged until now into the run folder; return the folder of logs."""
        collect_logs(self._service, self.folder)
        return self.folder / store.LOGS

    def topic(self, name: str, partitions: int, replication: int | None) -> str:
        """Make a topic; return its name in the system.

        Raises:
            BadInput: the system cannot have it.
            ServiceError: it was not made in time.
        """
        topic = self.plan.add(name, partitions, replication)
        aim(self._course, self.plan.now)
        self._tenancy.declare(self.plan.now.declared.topics)
        store.write_yaml(self.folder / store.SCENARIO, self.plan.now.resolved())
        self._tenancy.create([topic])
        self._tenancy.report_settings()
        self._survey.soon()
        return self._tenancy.in_system(name)

    def fault(self, kind: str, on: str | Sequence[str], keys: Mapping[str, Any]) -> LiveFault:
        """Begin a fault, and prove its effect.

        Raises:
            BadInput: it cannot be injected here; names the key and the remedy.
            FaultError: it had no effect; what it did in part is healed.
        """
        self._liveness = None
        return self._faults.begin(lambda number: self.plan.fault(number, kind, on, keys))

    def heal(self, fault: LiveFault) -> None:
        """Heal a fault, and prove that; raises FaultError if it is not."""
        self._faults.heal(fault)

    def recover(self, within_s: float | None = None) -> float:
        """Wait until every host answers and all replicas of all topics are in sync; return how long that took, s.

        Raises:
            BadInput: a fault holds.
            RunFailed: it did not happen within the bound.
        """
        self._require_healed("wait_recovered")
        bound_s = self.plan.now.scenario.recovery / 1e9 if within_s is None else within_s
        self._watcher.on(PhaseBegun("recover"))
        began, why = time.monotonic(), ""
        try:
            self._service.wait_ready(bound_s)
        except (ServiceError, HostError) as error:
            why = str(error)
        took_s = round(time.monotonic() - began, 3)
        self._liveness = {"recovered": not why, "bound_s": bound_s, "took_s": took_s, "why": why}
        if why:
            raise RunFailed(f"the cluster did not recover within {bound_s:g} s: {why}. Run folder: {self.folder}")
        return took_s

    def judge(self) -> Verdict:
        """Judge what was recorded so far; recording goes on.

        Raises:
            BadInput: a fault holds.
        """
        self._require_healed("judge")
        self._recovered()
        problems = self._read_finally()
        self.history.flush()
        self._keep(problems)
        finish(self.folder)
        return check_run(self.folder)

    def end(self, *, hurry: bool = False) -> list[str]:
        """Heal all faults, recover, and record that; return what is not healed.

        Args:
            hurry: do not wait for the recovery.
        """
        self._watcher.on(PhaseBegun("heal"))
        unhealed = self._faults.heal_all()
        if not hurry:
            self._recovered()
        problems = [] if hurry else self._read_finally()
        self._survey.close()
        self.history.close()
        self._keep([*problems, *self._survey.problems])
        self._course.log.close()
        return unhealed

    def _recovered(self) -> None:
        """Wait for the recovery, unless that was done since the last fault."""
        if self._liveness is None:
            try:
                self.recover()
            except RunFailed as error:
                self._watcher.on(Problem(str(error)))

    def _require_healed(self, call: str) -> None:
        if self.active:
            raise BadInput(f"{self.plan.source}.{call}: {', '.join(self.active)} still holds; heal it first")

    def _read_finally(self) -> list[str]:
        """Read all topics to their end; return why that does not show all."""
        self._watcher.on(PhaseBegun("final read"))
        return read_all(
            self.clients,
            self.plan.now.declared.topics,
            self.history,
            wal=self.folder / "wal",
            run_id=self._run_id,
            namespace=self._tenancy.namespace,
        )

    def _keep(self, problems: Sequence[str]) -> None:
        """Write how the cluster is, and what is in doubt."""
        load_ns = self._course.load_start_ns
        crashed, doubts = self._tenancy.crashed(load_ns, self._origin_ns)
        content = {
            **(self._liveness or {"recovered": None}),
            "dropped_faults": 0,
            "crashed": crashed,
            "answered": self._survey.answered,
            "load_start_ns": load_ns - self._origin_ns,
            "load": {"end_ns": self._course.now_ns(), "paced": None, "backlog": None},
            "problems": [*problems, *self._course.doubts, *doubts],
        }
        store.write_json(self.folder / store.RECOVERY, content)
