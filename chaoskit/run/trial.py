"""A trial: its own topics, a load, faults, a final read.

Steps: create topics, sync all disks, load with faults, heal, recover within the bound, final read. What was recorded
is kept even if a step fails.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.contract.event import PhaseBegun, Watcher
from chaoskit.contract.workloads.traits import Routed
from chaoskit.contract.workloads.workload import PRODUCER
from chaoskit.run.application.instances import Instances
from chaoskit.run.application.starting import start_application
from chaoskit.run.client import Client
from chaoskit.run.crew import crew_of
from chaoskit.run.deployment import Deployment
from chaoskit.run.digester import Digester
from chaoskit.run.faults.conductor import Conductor
from chaoskit.run.faults.triggering import Triggers
from chaoskit.run.fleet import STOP_TIMEOUT_S, Fleet
from chaoskit.run.interruption import Interruption
from chaoskit.run.loading import Loading
from chaoskit.run.order import make_order
from chaoskit.run.recovering import Recovering
from chaoskit.run.seats import Seats
from chaoskit.run.survey import Survey
from chaoskit.run.tenancy import Tenancy
from chaoskit.run.transaction_watch import watch_of
from chaoskit.scenario.plan import Plan


class Trial:
    """One trial on a deployment.

    Attributes:
        restored: whether the deployment is in its original state: every fault was proved healed and left nothing
            behind, and the cluster recovered.

    Args:
        plan: the plan.
        deployment: the deployment to use; its system is started.
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC.
        watcher: receives the events.
        interrupted: set when the user interrupts the run.
    """

    def __init__(
        self,
        plan: Plan,
        deployment: Deployment,
        folder: Path,
        *,
        origin_ns: int,
        watcher: Watcher,
        interrupted: Interruption,
    ) -> None:
        self.restored: bool = False
        self._plan = plan
        self._deployment = deployment
        self._service = deployment.service
        self._folder = folder
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._interrupted = interrupted
        self._tenancy = Tenancy(plan, deployment, folder, watcher)
        self._load_start_ns = 0
        self._digester: Digester | None = None
        self._problems: list[str] = []
        self._application: Instances | None = None

    def execute(self) -> None:
        """Execute all steps.

        Raises:
            ChaoskitError: a step failed.
        """
        self._tenancy.begin()
        self._with_cluster()

    def _with_cluster(self) -> None:
        with crew_of(self._plan, self._folder) as crew:
            seats = Seats(self._deployment.seats)
            journal, held = self._deployment.journal, self._interrupted.held
            order = make_order(self._plan, self._deployment, self._folder, self._tenancy)
            fleet = Fleet(self._folder, journal, order, crew, seats, held=held)
            wal, namespace = self._folder / "wal", self._tenancy.in_system("")
            watch = watch_of(self._plan, self._service, wal, self._origin_ns, namespace, fleet.number)
            survey = Survey(self._service, wal, self._origin_ns, self._tenancy.in_history, watch)
            try:
                self._drive(fleet, survey, seats)
            finally:
                seats.close()
                if self._application is not None:
                    self._application.stop()
                fleet.stop(fleet.clients)
                fleet.join(fleet.clients, STOP_TIMEOUT_S)
                survey.close()
                if self._digester is not None:
                    self._digester.close()

    def _drive(self, fleet: Fleet, survey: Survey, seats: Seats) -> None:
        self._watcher.on(PhaseBegun("clients"))
        clients = fleet.launch(self._plan.workload.tasks(self._plan.workload_options))
        producers = [client for client in clients if client.worker.task.role == PRODUCER]
        consumers = [client for client in clients if client not in producers]
        if self._plan.application is not None:
            self._watcher.on(PhaseBegun("application"))
            self._application = start_application(
                self._plan, self._deployment, fleet, self._folder, self._tenancy, watcher=self._watcher
            )
        conductor = self._conductor(fleet, survey)
        if self._application is not None:
            self._application.occupancy = conductor.course.occupancy
        start_ns = self._begin(fleet, survey, seats)
        conductor.start(start_ns)
        loading = Loading(
            self._plan,
            fleet,
            clients,
            conductor,
            self._folder,
            start_ns=start_ns,
            origin_ns=self._origin_ns,
            watcher=self._watcher,
            interrupted=self._interrupted,
        )
        loading.wait()
        self._problems += loading.problems
        conductor.load_is_over()
        fleet.stop(producers)
        if self._interrupted.is_set() or fleet.failures():
            conductor.heal_now()
        self._watcher.on(PhaseBegun("heal"))
        conductor.join()
        if full := conductor.course.full or fleet.full():
            raise full
        self._problems += conductor.missed + conductor.course.doubts
        liveness = self._recovering().wait(fleet, producers, consumers, self._application)
        if self._application is not None:
            self._problems += self._application.stop()
        fleet.stop(clients)
        self._problems += [*fleet.join(clients, STOP_TIMEOUT_S), *_unread(clients)]
        seats.close()
        self._problems += survey.problems + seats.problems
        self.restored = (
            liveness["recovered"]
            and ("group" not in liveness or _serves(liveness["group"]))
            and conductor.restored
            and not self._interrupted.is_set()
        )
        liveness |= {"dropped_faults": conductor.dropped, "answered": survey.answered}
        liveness |= {"load_held_s": round(loading.held_ns / 1e9, 3)} if loading.held_ns else {}
        self._keep(liveness, loading.recorded())

    def _begin(self, fleet: Fleet, survey: Survey, seats: Seats) -> int:
        """Begin the load; return when it began, CLOCK_MONOTONIC, ns."""
        self._watcher.on(PhaseBegun("load"))
        survey.start()
        start_ns = fleet.go(fleet.clients)
        seats.attend(fleet.clients)
        self._digest(start_ns)
        self._interrupted.load_begun = True
        self._load_start_ns = start_ns - self._origin_ns
        # For the case that the harness is killed; replaced at the end.
        begun = {"recovered": None, "load_start_ns": self._load_start_ns}
        store.write_json(self._folder / store.RECOVERY, begun)
        return start_ns

    def _recovering(self) -> Recovering:
        return Recovering(
            self._plan,
            self._service,
            self._watcher,
            self._interrupted,
            self._problems,
            database=self._deployment.database,
        )

    def _conductor(self, fleet: Fleet, survey: Survey) -> Conductor:
        return Conductor(
            self._plan,
            self._service,
            self._deployment.hosts,
            fleet.clients,
            self._folder,
            origin_ns=self._origin_ns,
            watcher=self._watcher,
            in_system=self._tenancy.in_system,
            changed=survey.soon,
            triggers=Triggers(survey, fleet.progress, self._service, self._deployment.hosts, self._now),
            beside=[other for other in (self._application, self._deployment.database) if other is not None],
        )

    def _keep(self, liveness: dict[str, Any], load: dict[str, Any]) -> None:
        """Write how the load went, and how the system was afterwards."""
        crashed, doubts = self._tenancy.crashed(self._load_start_ns + self._origin_ns, self._origin_ns)
        own = {"crashed": crashed, "load_start_ns": self._load_start_ns, "load": load}
        content = {**liveness, **own, "problems": [*self._problems, *doubts]}
        store.write_json(self._folder / store.RECOVERY, content)

    def _digest(self, start_ns: int) -> None:
        """Digest the logs from now on, if the run records latencies only."""
        if self._plan.scenario.record == "latency":
            routed = self._plan.declared.get(Routed)
            assert routed is not None
            self._digester = Digester.begun(self._folder, len(routed.places), start_ns)

    def _now(self) -> int:
        return time.monotonic_ns() - self._origin_ns


def _unread(clients: Sequence[Client]) -> list[str]:
    """Return why it is in doubt what some clients read at the end."""
    return [why for client in clients if (why := client.worker.result.get("why"))]


def _serves(group: Mapping[str, Any] | None) -> bool:
    return group is not None and not group["behind"]
