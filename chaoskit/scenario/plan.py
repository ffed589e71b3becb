"""A scenario with its plug-ins found and their keys validated: everything that can be refused early."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract.client import TransactionalClients
from chaoskit.contract.cluster import Declared, System
from chaoskit.contract.host import HostProvider
from chaoskit.contract.ledger import LedgerClients
from chaoskit.contract.nemesis import Nemesis, Preparing
from chaoskit.contract.workload import CONSUMER, PRODUCER, Resending, Subscribing, Workload
from chaoskit.scenario.model import Choice, ClusterSpec, FaultSpec, Scenario, WorkloadSpec, validated
from chaoskit.scenario.timeline import CLIENT_ROLES, PlannedFault, Targets, check_targets, draw, instants

_SEED_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run needs to know before it starts; see `make_plan`."""

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
    def powers_needed(self) -> frozenset[type]:
        """Optional powers that the faults use."""
        return frozenset(power for fault in self.faults for power in nemesis(fault.kind).needs)

    def resolved(self) -> dict[str, Any]:
        """Return the scenario as it runs, every default and the seed written out; it can be run again."""
        content = self.scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
        options = [("cluster", self.system_options), ("workload", self.workload_options)]
        for key, model in options:
            content[key] |= model.model_dump(mode="json", by_alias=True)
        content["cluster"]["disk"] = self.provider_options.model_dump(mode="json")
        return {**content, "seed": self.seed}


def host_names(count: int) -> list[str]:
    """Return the names that a lab of this size gives its hosts."""
    return [f"n{index}" for index in range(1, count + 1)]


def make_plan(scenario: Scenario, source: str, seed: int | None = None) -> Plan:
    """Find the plug-ins of a scenario and have them validate their keys; nothing is started.

    Args:
        scenario: as read.
        source: file or place that it came from, for errors.
        seed: overrides the scenario's.

    Raises:
        BadInput: naming the source, the key and the remedy.
    """
    cluster, load = scenario.cluster, scenario.workload
    chosen = seed if seed is not None else scenario.seed
    chosen = secrets.randbelow(_SEED_MAX) if chosen is None else chosen
    try:
        provider: HostProvider = plugins.load("host", cluster.provider, "cluster.provider")
        system: System = plugins.load("cluster", cluster.system, "cluster.system")
        workload: Workload = plugins.load("workload", load.kind, "workload.kind")
        system_options = validated(
            system.options, cluster.model_extra or {}, source, "cluster.", ClusterSpec.model_fields
        )
        workload_options = validated(
            workload.options, load.model_extra or {}, source, "workload.", WorkloadSpec.model_fields
        )
        provider_options = provider.seeded(validated(provider.options, cluster.disk, source, "cluster.disk."), chosen)
        declared = _declare(cluster, system, system_options, workload, workload_options)
        targets = Targets(
            hosts=host_names(cluster.hosts),
            clients=[task.client for task in workload.tasks(workload_options)],
            hits_clients=lambda kind: nemesis(kind).hits == "clients",
            lasts=lambda kind: nemesis(kind).lasts,
        )
        topics = workload.topics(workload_options, declared.brokers)
        partitions = [f"{topic.name}/{number}" for topic in topics for number in range(topic.partitions)]
        powers = (*provider.powers(provider_options), *system.powers(system_options))
        if missing := [power.__name__ for power in workload.needs if power not in powers]:
            raise BadInput(
                f"workload.kind: {load.kind} needs {', '.join(missing)}, which {cluster.system} does not have"
            )
        for index, spec in enumerate(scenario.faults):
            choices = list(_choices(spec, f"faults.{index}", source))
            for key, choice in choices:
                _check_choice(spec, choice, key, source, powers)
                on, on_key = (choice.on, f"{key}.on") if choice.on else (spec.on, f"faults.{index}.on")
                hits_clients = targets.hits_clients(choice.kind)
                roles = CLIENT_ROLES if hits_clients else system.roles
                check_targets(on, on_key, targets.pool(choice.kind), roles, [] if hits_clients else partitions)
            if spec.duration is not None and not any(targets.lasts(choice.kind) for _, choice in choices):
                raise BadInput(f"faults.{index}.for: {choices[0][1].kind} is over by itself; leave for out")
            if instants(spec, chosen, index)[-1:] > [load.duration - 1]:
                raise BadInput(f"faults.{index}: begins after the load has ended; make workload.duration longer")
        _check_expectations(scenario.expect)
    except BadInput as error:
        raise error if str(error).startswith(source) else BadInput(f"{source}: {error}") from error
    faults = draw(scenario.faults, chosen, targets)
    return Plan(
        source,
        scenario,
        chosen,
        provider,
        provider_options,
        system,
        system_options,
        workload,
        workload_options,
        declared,
        faults,
    )


def check_machine(plan: Plan) -> None:
    """Refuse what this machine or the client libraries cannot do, and fetch what is missing.

    Raises:
        BadInput: with the remedy.
    """
    plan.provider.check(plan.scenario.cluster.hosts, plan.provider_options, plan.powers_needed)
    plan.system.check(plan.declared, plan.scenario.cluster.hosts)
    plan.system.prepare(plan.system_options)
    for fault in plan.faults:
        each = nemesis(fault.kind)
        if isinstance(each, Preparing):
            each.prepare(plan.system, plan.system_options, each.parameters.model_validate(fault.parameters))


def _declare(cluster: ClusterSpec, system: System, options: Any, workload: Workload, load: Any) -> Declared:
    brokers = system.brokers(options, cluster.hosts)
    return Declared(
        options=options,
        brokers=brokers,
        replication=max(topic.replication for topic in workload.topics(load, brokers)),
        producer=workload.client_settings(load, PRODUCER),
        consumer=workload.client_settings(load, CONSUMER),
        grouped=workload.grouped(load),
        transactional=TransactionalClients in workload.needs,
        ledgers=LedgerClients in workload.needs,
        hosts=cluster.hosts,
        subscription=workload.subscription(load) if isinstance(workload, Subscribing) else "",
        resends=workload.resends(load) if isinstance(workload, Resending) else "never",
        restarts=isinstance(workload, Resending) and workload.restarts(load),
    )


def nemesis(kind: str, key: str = "faults.inject") -> Nemesis:
    """Return the nemesis of a kind of fault.

    Raises:
        BadInput: there is none, blaming `key`.
    """
    found: Nemesis = plugins.load("nemesis", kind, key)
    return found


def _choices(spec: FaultSpec, key: str, source: str) -> Iterator[tuple[str, Choice]]:
    """Yield each kind that a fault is drawn from, and the key under which it stands."""
    for index, (kind, keys) in enumerate(spec.kinds()):
        where = f"{key}.inject" if isinstance(spec.inject, str) else f"{key}.inject.{index}"
        place = f"{where}.{kind}" if keys else where
        yield place, validated(Choice, {"kind": kind, **keys}, source, f"{place}.")


def _check_choice(spec: FaultSpec, choice: Choice, key: str, source: str, powers: Collection[type]) -> None:
    fault = nemesis(choice.kind, key)
    known = [field.alias or name for name, field in FaultSpec.model_fields.items()]
    prefix = f"{key}." if choice.model_extra else f"{key.partition('.inject')[0]}."
    validated(fault.parameters, {**(spec.model_extra or {}), **(choice.model_extra or {})}, source, prefix, known)
    for power in fault.needs:
        if power not in powers:
            raise BadInput(f"{key}: {choice.kind} needs {_first_line(power)}, which this cluster does not have")
    if choice.duration is not None and not fault.lasts:
        raise BadInput(f"{key}.for: {choice.kind} is over by itself; leave for out")


def _first_line(power: type) -> str:
    """Return what a power is, in the words of its documentation."""
    text = (power.__doc__ or power.__name__).splitlines()[0].removeprefix("Optional power: ").rstrip(".")
    return f"{power.__name__} ({text})"


def _check_expectations(expect: Mapping[str, Any]) -> None:
    known = plugins.anomalies()
    for anomaly in expect:
        if anomaly not in known:
            raise BadInput(f"expect.{anomaly}: no checker knows this anomaly; {nearest(anomaly, known)}")
