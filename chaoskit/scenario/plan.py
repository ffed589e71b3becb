"""A scenario with its plug-ins loaded and their keys validated. Everything that can be rejected early is."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract import installed
from chaoskit.contract.cluster import System
from chaoskit.contract.disk import DATA
from chaoskit.contract.guarantee import Declared, Guarantees
from chaoskit.contract.host import HostProvider
from chaoskit.contract.installed import nemesis
from chaoskit.contract.nemesis import OnDisk, Preparing
from chaoskit.contract.power import words
from chaoskit.contract.workload import CONSUMER, PRODUCER, Workload
from chaoskit.scenario.model import Choice, ClusterSpec, FaultSpec, Scenario, WorkloadSpec, validated
from chaoskit.scenario.timeline import CLIENT_ROLES, PlannedFault, Targets, check_targets, draw, instants

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
        return host_names(self.scenario.cluster.hosts)

    @property
    def host_powers_needed(self) -> frozenset[type]:
        """Powers of hosts and of their disks that the faults use."""
        kinds = [nemesis(fault.kind) for fault in self.faults]
        return frozenset(power for kind in kinds for power in (*kind.host_powers, *kind.disk_powers))

    def resolved(self) -> dict[str, Any]:
        """Return the scenario with all defaults and the seed filled in; it can be run again."""
        content = self.scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
        options = [("cluster", self.system_options), ("workload", self.workload_options)]
        for key, model in options:
            content[key] |= model.model_dump(mode="json", by_alias=True)
        content["cluster"]["disk"] = self.provider_options.model_dump(mode="json")
        return {**content, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What the faults of a scenario may target, and the powers of hosts, disks and cluster."""

    targets: Targets
    roles: Sequence[str]
    partitions: Sequence[str]
    host_powers: Collection[type]
    disk_powers: Mapping[str, Collection[type]]
    cluster_powers: Collection[type]
    missing: Mapping[type, str]


def host_names(count: int) -> list[str]:
    """Return the host names of a lab of this size."""
    return [f"n{index}" for index in range(1, count + 1)]


def make_plan(scenario: Scenario, source: str, seed: int | None = None) -> Plan:
    """Load the plug-ins of a scenario and let them validate their keys; nothing is started.

    Args:
        scenario: the scenario.
        source: its file or place, for error messages.
        seed: overrides the scenario's seed.

    Raises:
        BadInput: names the source, the key and the remedy.
    """
    chosen = seed if seed is not None else scenario.seed
    chosen = secrets.randbelow(_SEED_MAX) if chosen is None else chosen
    try:
        return _plan(scenario, source, chosen)
    except BadInput as error:
        raise error if str(error).startswith(source) else BadInput(f"{source}: {error}") from error


def _plan(scenario: Scenario, source: str, seed: int) -> Plan:
    cluster, load = scenario.cluster, scenario.workload
    provider = installed.provider(cluster.provider, "cluster.provider")
    system = installed.system(cluster.system, "cluster.system")
    workload = installed.workload(load.kind, "workload.kind")
    system_options = validated(system.options, cluster.model_extra or {}, source, "cluster.", ClusterSpec.model_fields)
    workload_options = validated(
        workload.options, load.model_extra or {}, source, "workload.", WorkloadSpec.model_fields
    )
    provider_options = provider.seeded(validated(provider.options, cluster.disk, source, "cluster.disk."), seed)
    disk_powers = provider.disk_powers(provider_options)
    declared = _declare(scenario, system, system_options, workload, workload_options, disks=tuple(disk_powers))
    _check_workload(scenario, system, system_options, workload, declared)
    targets = Targets(
        hosts=host_names(cluster.hosts),
        clients=[task.client for task in workload.tasks(workload_options)],
        hits_clients=lambda kind: nemesis(kind).hits == "clients",
        lasts=lambda kind: nemesis(kind).lasts,
    )
    allowed = _Allowed(
        targets=targets,
        roles=system.roles,
        partitions=[f"{topic}/{number}" for each in declared.topics for topic, number in each.places],
        host_powers=provider.host_powers(provider_options),
        disk_powers=disk_powers,
        cluster_powers=system.cluster_powers(system_options),
        missing=_missing(system),
    )
    for index, spec in enumerate(scenario.faults):
        _check_fault(spec, f"faults.{index}", source, allowed)
        if instants(spec, seed, index)[-1:] > [load.duration - 1]:
            raise BadInput(f"faults.{index}: starts after the end of the load; increase workload.duration")
    _check_expectations(scenario.expect)
    _check_accepted(scenario.accept, system.guarantees)
    return Plan(
        source=source,
        scenario=scenario,
        seed=seed,
        provider=provider,
        provider_options=provider_options,
        system=system,
        system_options=system_options,
        workload=workload,
        workload_options=workload_options,
        declared=declared,
        faults=draw(scenario.faults, seed, targets),
    )


def check_machine(plan: Plan) -> None:
    """Reject what this machine or the client libraries do not support, and download what is missing.

    Raises:
        BadInput: names the remedy.
    """
    plan.provider.check(plan.scenario.cluster.hosts, plan.provider_options, plan.host_powers_needed)
    plan.system.check(plan.declared)
    plan.system.prepare(plan.system_options)
    for fault in plan.faults:
        each = nemesis(fault.kind)
        if isinstance(each, Preparing):
            each.prepare(plan.system, plan.system_options, each.parameters.model_validate(fault.parameters))


def _declare(
    scenario: Scenario, system: System, options: Any, workload: Workload, load: Any, *, disks: tuple[str, ...]
) -> Declared:
    hosts = scenario.cluster.hosts
    brokers = system.brokers(options, hosts)
    return Declared(
        options=options,
        hosts=hosts,
        brokers=brokers,
        topics=tuple(workload.topics(load, brokers)),
        producer=workload.client_settings(load, PRODUCER),
        consumer=workload.client_settings(load, CONSUMER),
        traits=workload.traits(load),
        load_ns=scenario.workload.duration,
        disks=disks,
    )


def _check_workload(scenario: Scenario, system: System, options: Any, workload: Workload, declared: Declared) -> None:
    kind, name = scenario.workload.kind, scenario.cluster.system
    for topic in declared.topics:
        if topic.model not in system.models:
            kept = ", ".join(model.value for model in system.models)
            raise BadInput(f"workload.kind: {kind} needs a {topic.model.value}; {name} has these data models: {kept}")
    offered = system.client_powers(options)
    for power in workload.client_powers:
        if power not in offered:
            why = _missing(system).get(power, "not supported")
            raise BadInput(f"workload.kind: {kind} needs {power.__name__}, which clients of {name} lack: {why}")


def _missing(system: System) -> dict[type, str]:
    """Return why powers are missing, or which options they require."""
    given = {power: f"set cluster.{needed}" for power, needed in system.given.items()}
    return {**given, **system.never, **system.notyet}


def _check_fault(spec: FaultSpec, place: str, source: str, allowed: _Allowed) -> None:
    targets, choices = allowed.targets, list(_choices(spec, place, source))
    for key, choice in choices:
        _check_choice(spec, choice, key, source, allowed)
        on, on_key = (choice.on, f"{key}.on") if choice.on else (spec.on, f"{place}.on")
        hits_clients = targets.hits_clients(choice.kind)
        roles = CLIENT_ROLES if hits_clients else allowed.roles
        check_targets(on, on_key, targets.pool(choice.kind), roles, [] if hits_clients else allowed.partitions)
    if spec.duration is not None and not any(targets.lasts(choice.kind) for _, choice in choices):
        raise BadInput(f"{place}.for: {choices[0][1].kind} is instantaneous; remove `for:`")


def _choices(spec: FaultSpec, key: str, source: str) -> Iterator[tuple[str, Choice]]:
    """Yield each kind that a fault is drawn from, with its key."""
    for index, (kind, keys) in enumerate(spec.kinds()):
        where = f"{key}.inject" if isinstance(spec.inject, str) else f"{key}.inject.{index}"
        place = f"{where}.{kind}" if keys else where
        yield place, validated(Choice, {"kind": kind, **keys}, source, f"{place}.")


def _check_choice(spec: FaultSpec, choice: Choice, key: str, source: str, allowed: _Allowed) -> None:
    fault = nemesis(choice.kind, key)
    known = [field.alias or name for name, field in FaultSpec.model_fields.items()]
    prefix = f"{key}." if choice.model_extra else f"{key.partition('.inject')[0]}."
    given = {**(spec.model_extra or {}), **(choice.model_extra or {})}
    parameters = validated(fault.parameters, given, source, prefix, known)
    disk = parameters.disk if isinstance(parameters, OnDisk) else DATA
    if disk not in allowed.disk_powers:
        raise BadInput(f"{prefix}disk: the hosts have no disk {disk!r}; {nearest(disk, allowed.disk_powers)}")
    for needed, offered, owner in (
        (fault.host_powers, allowed.host_powers, "these hosts"),
        (fault.disk_powers, allowed.disk_powers[disk], f"disk {disk} of these hosts"),
        (fault.cluster_powers, allowed.cluster_powers, "this cluster"),
    ):
        for power in needed:
            if power not in offered:
                why = f": {allowed.missing[power]}" if power in allowed.missing else ""
                raise BadInput(f"{key}: {choice.kind} needs {words(power)}, which {owner} cannot do{why}")
    if choice.duration is not None and not fault.lasts:
        raise BadInput(f"{key}.for: {choice.kind} is instantaneous; remove `for:`")


def _check_accepted(accept: Sequence[str], guarantees: Guarantees) -> None:
    known = [rule.id for rule in guarantees.rules if rule.known]
    for index, rule in enumerate(accept):
        if rule not in known:
            raise BadInput(f"accept.{index}: {rule!r} is no known issue of this system; {nearest(rule, known)}")


def _check_expectations(expect: Mapping[str, Any]) -> None:
    known = installed.anomalies()
    for anomaly in expect:
        if anomaly not in known:
            raise BadInput(f"expect.{anomaly}: unknown anomaly; {nearest(anomaly, known)}")
