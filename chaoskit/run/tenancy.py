"""A trial's part of a deployment: its names, its topics, and which processes ended by themselves while it lasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.contract.event import PhaseBegun, Problem, ServiceRevived, Watcher
from chaoskit.contract.power import optional
from chaoskit.contract.systems.installation import Revival, Supervision
from chaoskit.contract.systems.service import Reporting, ServiceError
from chaoskit.contract.workloads.application import DATABASE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.format.models import write_topics
from chaoskit.run.deployment import Deployment
from chaoskit.scenario.plan import Plan


class Tenancy:
    """What a trial has of a deployment.

    Args:
        plan: the plan.
        deployment: the deployment; its system is started.
        folder: the run folder.
        watcher: receives the events.

    Attributes:
        namespace: what the names of its topics begin with in the system.
        database: the URL of the database that it has to itself; empty: it has none.
    """

    def __init__(self, plan: Plan, deployment: Deployment, folder: Path, watcher: Watcher) -> None:
        self.namespace: str = deployment.namespace()
        self.database: str = ""
        self._plan = plan
        self._deployment = deployment
        self._folder = folder
        self._watcher = watcher
        self._revived_before = 0

    def in_system(self, name: str) -> str:
        """Return the name in the system of one of its topics."""
        return self.namespace + name

    def in_history(self, name: str) -> str:
        """Return the workload's own name of a topic in the system."""
        return name.removeprefix(self.namespace)

    def begin(self) -> None:
        """Prepare the system, create the topics, and sync the disks.

        Raises:
            ChaoskitError: the system is not ready in time, or does not take a topic.
        """
        self._describe()
        service, plan = self._deployment.service, self._plan
        self._revived_before = len(self._revivals())
        self.declare(plan.declared.topics)
        self._watcher.on(PhaseBegun("ready"))
        service.begin_trial(self.namespace, plan.system_options)
        service.wait_ready(plan.scenario.cluster.ready_within / 1e9)
        self.create([*plan.declared.topics, *plan.side_topics])
        self._make_database()
        self.report_settings()
        self._deployment.sync()

    def _make_database(self) -> None:
        database, application = self._deployment.database, self._plan.application
        if database is not None and application is not None and application.database is not None:
            database.wait_ready(self._plan.scenario.cluster.ready_within / 1e9)
            self.database = database.make(f"trial{len(self._deployment.trials)}", application.database.tables)

    def declare(self, topics: Sequence[Topic]) -> None:
        """Record the data models of all of its topics."""
        write_topics(self._folder / "wal", {topic.name: topic.model.name for topic in topics})

    def create(self, topics: Sequence[Topic]) -> None:
        """Create topics, as far as the system stores them."""
        stored = [replace(topic, name=self.in_system(topic.name)) for topic in topics if topic.stored]
        self._deployment.create_topics(stored)

    def report_settings(self) -> None:
        """Keep the settings in effect; if nobody reports them, the verdict says so."""
        if reporting := optional(self._deployment.service, Reporting):
            settings: Mapping[str, Mapping[str, Any]] = {}
            try:
                settings = reporting.settings_in_effect()
                if self._deployment.database is not None:
                    settings = {**settings, DATABASE: self._deployment.database.settings_in_effect()}
            except ServiceError as error:
                self._watcher.on(Problem(str(error)))
            store.write_json(self._folder / store.EFFECTIVE, settings)

    def crashed(self, load_ns: int, origin_ns: int) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the processes that exited or hung by themselves since the load began, and were started again, as in
        recovery.json; and what is in doubt because some did before.

        Args:
            load_ns: when the load began, CLOCK_MONOTONIC.
            origin_ns: start of the run, CLOCK_MONOTONIC.
        """
        revivals = self._revivals()[self._revived_before :]
        crashed = [revival for revival in revivals if revival.at_ns >= load_ns]
        doubts = [
            f"{revival.service} on {revival.host} had to be restarted before the load: it {revival.why}"
            for revival in revivals
            if revival.at_ns < load_ns
        ]
        for crash in crashed:
            self._watcher.on(ServiceRevived(crash.host, crash.service, crash.why))
        return [{**crash._asdict(), "at_ns": crash.at_ns - origin_ns} for crash in crashed], doubts

    def _describe(self) -> None:
        deployment = self._deployment
        before = {"id": deployment.id, "namespace": self.namespace, "before": list(deployment.trials)}
        store.write_json(self._folder / store.DEPLOYMENT, before)
        deployment.trials.append(store.run_name(self._folder))

    def _revivals(self) -> Sequence[Revival]:
        services = [service for service in (self._deployment.service, self._deployment.database) if service is not None]
        supervised = [supervision for service in services if (supervision := optional(service, Supervision))]
        return sorted(revival for supervision in supervised for revival in supervision.revivals())
