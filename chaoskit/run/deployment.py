"""A deployment: hosts with a running system, used by consecutive trials."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.errors import ChaoskitError
from chaoskit.base.journal import Journal
from chaoskit.base.parallel import on_each
from chaoskit.contract.event import HostsKept, PhaseBegun, Problem, Watcher
from chaoskit.contract.hosts.host import Lab, ServiceHost
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.systems.attach import Attaching
from chaoskit.contract.systems.database import DatabaseServer
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.service import Service
from chaoskit.contract.workloads.application import DatabaseUse
from chaoskit.contract.workloads.topic import Topic
from chaoskit.run.interruption import TooEarly
from chaoskit.run.preceding import precede, preceded
from chaoskit.run.warden import Warden
from chaoskit.scenario.applications import database_of
from chaoskit.scenario.machine import rooting, roots_of
from chaoskit.scenario.model import ATTACHED
from chaoskit.scenario.plan import Plan


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a plan requires of a deployment."""

    provider: str
    hosts: int
    seats: int
    applications: int
    database: DatabaseUse | None
    provider_options: Any
    system: str
    system_options: Any
    sync: bool
    attach: Mapping[str, Any]
    preceded: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, plan: Plan) -> Requirements:
        """Return what a plan requires."""
        spec = plan.scenario.cluster
        options = plan.system.deployment(plan.system_options)
        database = plan.application.database if plan.application else None
        return cls(
            spec.provider, spec.hosts, spec.seats, spec.applications, database, plan.provider_options, spec.system,
            options, spec.sync, spec.attach, preceded(plan),
        )  # fmt: skip

    def covers(self, other: Requirements) -> bool:
        """Return whether a deployment for this one serves the other, too: it may have what some faults need on more
        hosts, but nothing that the other's faults do not need on any."""
        here, theirs = self.preceded, other.preceded
        same = replace(self, preceded=theirs) == other
        return same and here.keys() == theirs.keys() and all(here[kind] >= names for kind, names in theirs.items())


class Deployment:
    """Hosts and a running system.

    Attributes:
        id: id of this deployment, unique on this machine.
        service: the system.
        hosts: all hosts of the lab: those of the system, those on which only clients run, those of the application,
            that of its database.
        database: the database of the application under test; None: there is none.
        journal: journal of everything created on the machine.
        trials: names of the runs on this deployment, oldest first.

    Args:
        plan: the first plan that runs on it.
        watcher: receives the events.
        keep: leave it if the harness is killed: nobody removes it then but `chaoskit heal`.
    """

    def __init__(self, plan: Plan, watcher: Watcher, *, keep: bool = False) -> None:
        self.id: str = f"{os.getpid()}-{id(self):x}"
        self.trials: list[str] = []
        self._leftovers = False
        self._attached = plan.scenario.cluster if plan.scenario.cluster.attach else None
        self._ground = Requirements.of(plan)
        self._powers = plan.host_powers_needed
        self.journal: Journal = Journal(f"run-{self.id}")
        self._warden = None if keep else Warden(self.journal.path)
        self._lab = self._provision(plan, watcher)
        try:
            watcher.on(PhaseBegun("deploy"))
            self.service: Service = self._deploy(plan)
            self.database: DatabaseServer | None = self._deploy_database(plan)
            precede(self._ground.preceded, self.service, self.hosts)
        except BaseException:
            self._remove_hosts()
            raise

    @property
    def hosts(self) -> Sequence[ServiceHost]:
        return self._lab.hosts

    @property
    def seats(self) -> Sequence[ServiceHost]:
        """The hosts on which clients run; empty if they run on this machine."""
        begin = self._ground.hosts
        return self._lab.hosts[begin : begin + self._ground.seats]

    @property
    def application_hosts(self) -> Sequence[ServiceHost]:
        """The hosts of the instances of the application under test."""
        begin = self._ground.hosts + self._ground.seats
        return self._lab.hosts[begin : begin + self._ground.applications]

    def start(self) -> None:
        """Start the system on all hosts where it is not running."""
        start(self.service)
        if self.database is not None:
            start(self.database)

    def serves(self, plan: Plan) -> bool:
        """Return whether a trial of this plan can run on it."""
        return self._ground.covers(Requirements.of(plan)) and plan.host_powers_needed <= self._powers

    def namespace(self) -> str:
        """Return what the names of the next trial's topics begin with.

        The first trial has a deployment of our own to itself; a later one's names must not collide with earlier ones.
        A system that runs already has topics of others.
        """
        number = len(self.trials)
        if self._attached is not None:
            return f"{self._attached.prefix}{secrets.token_hex(3)}-"
        return f"t{number}-" if number else ""

    def create_topics(self, topics: Sequence[Topic]) -> None:
        """Create the topics of a trial; in a system that runs already they are journalled before."""
        if self._attached is not None:
            names = [topic.name for topic in topics]
            given = {"system": self._attached.system, "settings": self._attached.attach}
            self.journal.record(ATTACHED, **given, names=names)
        for topic in topics:
            self.service.create_topic(topic)

    def end_trial(self, watcher: Watcher) -> None:
        """Leave nothing of the last trial in a system that runs already."""
        if self._attached is None:
            return
        try:
            self.service.end_trial()
        except ChaoskitError as error:
            self._leftovers = True
            watcher.on(Problem(f"{error}; `chaoskit heal` tries again"))

    def sync(self) -> None:
        """Sync the disks of all hosts.

        Formatting tools do not fsync everything; an early power cut would test the set-up, not the load.
        """
        if self._ground.sync and self._attached is None:
            for host in self.hosts:
                host.run(["sync", "-f", *(disk.path for disk in host.disks.values())])

    def collect(self, folder: Path) -> bool:
        """Copy logs and disk recordings to a run folder; return whether there was a recording."""
        for service in (self.service, self.database):
            if service is not None:
                collect_logs(service, folder)
        return bool(self._lab.keep(folder / store.RECORDINGS))

    def close(self) -> None:
        """Remove the hosts and everything created for them."""
        try:
            self.service.close()
        finally:
            self._remove_hosts()

    def leave(self, watcher: Watcher) -> None:
        """Leave the hosts running; `chaoskit heal` stops them."""
        self.service.close()
        self.journal.release()
        watcher.on(HostsKept(tuple(self._lab.access())))

    def _provision(self, plan: Plan, watcher: Watcher) -> Lab:
        try:
            watcher.on(PhaseBegun("hosts"))
            spec = plan.scenario.cluster
            wanted = self.journal, spec.lab_size, plan.provider_options, plan.host_powers_needed
            roots = [] if self._attached is not None else roots_of(plan)
            if any(roots):
                return rooting(plan).provision(*wanted, roots=roots)
            return plan.provider.provision(*wanted)
        except (ChaoskitError, TooEarly):
            self._close_journal()
            raise
        except BaseException:
            self.journal.release()
            raise

    def _deploy(self, plan: Plan) -> Service:
        if self._attached is None:
            return plan.system.deploy(self._lab.hosts[: self._ground.hosts] or self.seats, plan.system_options)
        assert isinstance(plan.system, Attaching)
        return plan.system.attach(self._attached.attach, plan.system_options, self._lab.hosts)

    def _deploy_database(self, plan: Plan) -> DatabaseServer | None:
        use, database = self._ground.database, database_of(plan.application)
        return database.deploy(self._lab.hosts[-1], use.settings) if use and database else None

    def _remove_hosts(self) -> None:
        try:
            self._lab.close()
        except BaseException:
            self.journal.release()
            raise
        if self._leftovers:
            self.journal.release()
        else:
            self._close_journal()

    def _close_journal(self) -> None:
        self.journal.close()
        if self._warden is not None:
            self._warden.wait()


def start(service: Powered) -> None:
    """Start a system on all its hosts at once, where it is not running: hosts may wait for each other."""
    if installation := optional(service, Installation):
        on_each(installation.hosts, installation.start)


def collect_logs(service: Powered, folder: Path) -> None:
    """Copy the log of each process to a run folder; where that fails, a file says why."""
    installation = optional(service, Installation)
    if installation is None:
        return

    def collect(host: ServiceHost) -> None:
        for name in installation.services(host):
            target = folder / store.LOGS / host.name / f"{name}.log"
            try:
                host.get(host.log_path(name), target)
            except (ChaoskitError, OSError) as error:
                with suppress(OSError):  # for example a full disk, which is also why the copy failed
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.with_suffix(".missing").write_text(f"{error}\n", encoding="utf-8")

    on_each(installation.hosts, collect)
