"""A scenario with its plug-ins loaded and their keys validated. Everything that can be rejected early is."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from chaoskit.base.downloads import told_only
from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract import installed
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees
from chaoskit.contract.hosts.host import HostProvider
from chaoskit.contract.installed import nemesis
from chaoskit.contract.mistakes import Model, validated, without_wrong
from chaoskit.contract.systems.system import Fetching, System, between_clients, typed
from chaoskit.contract.workloads.application import Application, Applying
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, SideTopics, Workload
from chaoskit.scenario.applications import check_application, fed, with_application, with_promise
from chaoskit.scenario.clusters import allowed_in, check_accepted, check_attach, check_drivers, check_hosts, check_rate
from chaoskit.scenario.expected import check_expected, check_findable
from chaoskit.scenario.faults import Allowed, check_fault, late, without_zones
from chaoskit.scenario.loads import check_backlog, check_copies, check_record, check_workload
from chaoskit.scenario.model import ClusterSpec, Scenario, WorkloadSpec, parse_scenario, salvage
from chaoskit.scenario.releases import with_newest
from chaoskit.scenario.timeline import PlannedFault, Targets, draw, instants
from chaoskit.scenario.triggers import check_triggers
from chaoskit.scenario.zones import check_zones

_SEED_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run needs to know before it starts; see `make_plan`."""

    source: str
    scenario: Scenario
    seed: int
    provider: HostProvider
    provider_options: Any
    system: System
    system_options: Any
    workload: Workload
    workload_options: Any
    declared: Declared
    faults: list[PlannedFault]

    @property
    def host_names(self) -> list[str]:
        """Names of the lab's hosts."""
        return self.scenario.cluster.host_names

    @property
    def roles(self) -> list[str]:
        """Targets of the faults that are neither hosts nor clients: they are looked up when a fault begins."""
        fixed = {*self.host_names, *(task.client for task in self.workload.tasks(self.workload_options))}
        return sorted({name for fault in self.faults for name in fault.on} - fixed)

    @property
    def side_topics(self) -> list[Topic]:
        """Topics that the workload's clients need besides those of the load."""
        workload = self.workload
        return workload.side_topics(self.workload_options) if isinstance(workload, SideTopics) else []

    @property
    def application(self) -> Application | None:
        """How the instances of the application under test are run; None: there is none."""
        workload = self.workload
        return workload.application(self.workload_options) if isinstance(workload, Applying) else None

    @property
    def guarantees(self) -> Guarantees:
        """Those of the system, and what the owner of an application under test promises."""
        return with_promise(self.system.guarantees, self.workload)

    @property
    def host_powers_needed(self) -> frozenset[type]:
        """Powers of hosts and of their disks that the faults use."""
        kinds = [nemesis(fault.kind) for fault in self.faults]
        return frozenset(power for kind in kinds for power in (*kind.host_powers, *kind.disk_powers))

    @property
    def tools_needed(self) -> dict[str, tuple[str, ...]]:
        """The programs that each kind of fault needs on its hosts."""
        kinds = {fault.kind: nemesis(fault.kind) for fault in self.faults}
        return {
            kind: fault_kind.tools
            for kind, fault_kind in kinds.items()
            if fault_kind.hits == "hosts" and fault_kind.on_hosts
        }

    @property
    def release(self) -> str:
        """The system and its release, if it has one."""
        return f"{self.scenario.cluster.system} {getattr(self.system_options, 'version', '')}".strip()

    def resolved(self) -> dict[str, Any]:
        """Return the scenario with all defaults and the seed filled in; it can be run again."""
        content = self.scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
        options = [("cluster", self.system_options), ("workload", self.workload_options)]
        for key, model in options:
            content[key] |= model.model_dump(mode="json", by_alias=True)
        key, _ = self.scenario.cluster.host_options
        content["cluster"][key] = self.provider_options.model_dump(mode="json")
        return {**content, "seed": self.seed}


def make_plan(scenario: Scenario, source: str, seed: int | None = None, *, recorded: bool = False) -> Plan:
    """Load the plug-ins of a scenario and let them validate their keys; nothing is started.

    Args:
        scenario: the scenario.
        source: its file or place, for error messages.
        seed: overrides the scenario's seed.
        recorded: whether it is that of a recorded run: a running cluster that it names needs not be reached from here.

    Raises:
        BadInput: names the source, the key and the remedy.
    """
    chosen = seed if seed is not None else scenario.seed
    chosen = secrets.randbelow(_SEED_MAX) if chosen is None else chosen
    try:
        return _Planning(scenario, source, chosen, range(len(scenario.faults)), recorded=recorded).plan()
    except BadInput as error:
        raise error if str(error).startswith(source) else BadInput(f"{source}: {error}") from error


def read_plan(content: Mapping[str, Any], source: str, seed: int | None = None) -> Plan:
    """Return the plan of a scenario as written.

    Raises:
        BadInput: names every wrong key that can be found at once; nothing was started.
    """
    try:
        scenario = parse_scenario(content, source)
    except BadInput as error:
        _tell_all(error, content, source)
    return make_plan(scenario, source, seed)


def _tell_all(error: BadInput, content: Mapping[str, Any], source: str) -> NoReturn:
    """Raise an error together with those of the parts of the scenario that it does not concern."""
    problems = Problems(source)
    problems.add(error)
    if (rest := salvage(content)) is not None:
        problems.tried(_Planning(rest.scenario, source, 0, rest.numbers).plan)
    problems.raise_any()
    raise error


class _Planning:
    """Makes a plan step by step, and goes on after a step that failed as far as possible.

    Args:
        numbers: the place of each fault in the list that was written.
        recorded: see `make_plan`.
    """

    def __init__(
        self, scenario: Scenario, source: str, seed: int, numbers: Sequence[int], *, recorded: bool = False
    ) -> None:
        self._source = source
        self._seed = seed
        self._numbers = numbers
        self._recorded = recorded
        self._problems = Problems(source)
        self._scenario = _seated(with_newest(scenario, self._problems))

    def plan(self) -> Plan:
        """Return the plan.

        Raises:
            BadInput: names every wrong key.
        """
        scenario, tried = self._scenario, self._problems.tried
        cluster, load = scenario.cluster, scenario.workload
        provider = tried(installed.provider, cluster.host_provider, "cluster.provider")
        system = tried(installed.system, cluster.system, "cluster.system")
        workload = tried(installed.workload, load.kind, "workload.kind")
        tried(check_zones, cluster.zones, cluster.host_names)
        key, content = cluster.host_options
        disk = provider and self._validated(provider.options, content, f"cluster.{key}.")
        options = system and self._validated(
            system.options, _given(cluster, system), "cluster.", ClusterSpec.model_fields
        )
        if system and options:
            tried(check_hosts, cluster, between_clients(system, options))
        given = load.model_extra or {}
        loading = workload and self._validated(workload.options, given, "workload.", WorkloadSpec.model_fields)
        tried(check_expected, scenario.expect, installed.anomalies())
        if system:
            tried(check_accepted, scenario.accept, system.guarantees)
        if not (provider and system and workload and disk and options and loading):
            self._fail()
        loading, disks = fed(system, workload, loading), tuple(provider.disk_powers(disk))
        declared = tried(_declare, scenario, system, options, workload, loading, disks=disks)
        sound = [tried(setting.is_sound, options) for setting in system.guarantees.settings]
        if declared is None or not all(sound):
            self._fail()
        tried(check_workload, scenario, system, options, (workload, loading), declared)
        tried(check_copies, system, loading, declared)
        tried(check_rate, cluster, declared)
        tried(check_drivers, scenario, provider, disk)
        tried(check_record, scenario, system, declared)
        tried(check_backlog, scenario, declared)
        tried(check_application, cluster, system, options, workload, loading)
        if not self._recorded:
            tried(check_findable, scenario.expect, installed.anomalies(), declared)
            if cluster.attach:
                tried(check_attach, cluster, system, declared)
        if self._problems and not cluster.attach:
            self._check_with_machine(system, options, declared)
        provider_options = provider.seeded(disk, self._seed)
        allowed = allowed_in(scenario, (provider, provider_options), (system, options), (workload, loading), declared)
        self._check_faults(allowed)
        return Plan(
            source=self._source,
            scenario=scenario,
            seed=self._seed,
            provider=provider,
            provider_options=provider_options,
            system=system,
            system_options=options,
            workload=workload,
            workload_options=loading,
            declared=declared,
            faults=self._draw(allowed.targets),
        )

    def _check_with_machine(self, system: System, options: Any, declared: Declared) -> None:
        """Check what is checked with the machine if there is no problem yet."""
        with told_only():
            self._problems.tried(system.check, declared)
            if isinstance(system, Fetching) and system.is_fetched(options):
                self._problems.tried(system.prepare, options)

    def _validated(
        self, model: type[Model], content: Mapping[str, Any], prefix: str, also_known: Iterable[str] = ()
    ) -> Model | None:
        """Return the model; without the keys that are wrong, if it can do without them."""
        parsed = self._problems.tried(validated, model, content, self._source, prefix, also_known)
        return parsed or without_wrong(model, content)

    def _fail(self) -> NoReturn:
        """Check the faults as far as that is possible without knowing whom they may hit, and raise all problems."""
        self._check_faults(None)
        raise self._problems.error()

    def _check_faults(self, allowed: Allowed | None) -> None:
        """Check all faults, and raise all problems."""
        length = self._scenario.workload.duration
        for number, spec in zip(self._numbers, self._scenario.faults, strict=True):
            self._problems.tried(check_fault, spec, f"faults.{number}", self._source, allowed)
            if instants(spec, self._seed, number)[-1:] > [length - 1]:
                self._problems.add(late(spec, number, length))
        for problem in check_triggers(self._scenario.faults, self._scenario.cluster.host_names):
            self._problems.add(problem)
        self._problems.raise_any()

    def _draw(self, targets: Targets) -> list[PlannedFault]:
        return [without_zones(fault, targets.zones) for fault in draw(self._scenario.faults, self._seed, targets)]


def _given(cluster: ClusterSpec, system: System) -> dict[str, Any]:
    """Return the system's options as written; a system that has the option `zones` is told the zones."""
    given = dict(cluster.model_extra or {})
    if "zones" in system.options.model_fields:
        given["zones"] = cluster.zones
    return given


def _seated(scenario: Scenario) -> Scenario:
    """Return a scenario with a host for each instance of the application, and in which all hosts of a system that runs
    between its clients are theirs."""
    scenario = with_application(scenario)
    cluster = scenario.cluster
    try:
        system = installed.system(cluster.system, "cluster.system")
    except BadInput:
        return scenario  # it is told where the system is needed
    options = without_wrong(system.options, _given(cluster, system))
    if options is None or not between_clients(system, options):
        return scenario
    seats = {"hosts": 0, "seats": cluster.hosts + cluster.seats}
    return scenario.model_copy(update={"cluster": cluster.model_copy(update=seats)})


def _declare(
    scenario: Scenario, system: System, options: Any, workload: Workload, load: Any, *, disks: tuple[str, ...]
) -> Declared:
    hosts = scenario.cluster.hosts
    brokers = system.brokers(options, hosts)
    return Declared(
        options=options,
        hosts=hosts,
        brokers=brokers,
        topics=tuple(typed(system, topic) for topic in workload.topics(load, brokers)),
        producer=workload.client_settings(load, PRODUCER),
        consumer=workload.client_settings(load, CONSUMER),
        traits=workload.traits(load),
        load_ns=scenario.workload.duration,
        disks=disks,
    )
