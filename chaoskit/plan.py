"""A scenario with its plug-ins found and their keys validated: everything that can be refused early."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaoskit import plugins
from chaoskit.cluster import Declared, System
from chaoskit.errors import BadInput, nearest
from chaoskit.host import HostProvider
from chaoskit.nemesis import Nemesis
from chaoskit.scenario import ClusterSpec, FaultSpec, Scenario, WorkloadSpec, validated
from chaoskit.timeline import PlannedFault, as_list, check_targets, draw, instants
from chaoskit.workload import CONSUMER, PRODUCER, Workload

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

    def nemesis(self, kind: str) -> Nemesis:
        """Return the nemesis of a kind of fault."""
        nemesis: Nemesis = plugins.load("nemesis", kind, "faults.inject")
        return nemesis

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
        provider_options = validated(provider.options, cluster.disk, source, "cluster.disk.")
        declared = _declare(cluster, system, system_options, workload, workload_options)
        names = host_names(cluster.hosts)
        topics = workload.topics(workload_options, declared.brokers)
        partitions = [f"{topic.name}/{number}" for topic in topics for number in range(topic.partitions)]
        for index, spec in enumerate(scenario.faults):
            key = f"faults.{index}"
            check_targets(spec, key, names, system.roles, partitions)
            _check_fault(spec, key, source, provider, load.duration)
        _check_expectations(scenario.expect)
    except BadInput as error:
        raise error if str(error).startswith(source) else BadInput(f"{source}: {error}") from error
    chosen = seed if seed is not None else scenario.seed
    chosen = secrets.randbelow(_SEED_MAX) if chosen is None else chosen
    faults = draw(scenario.faults, chosen, names, _lasts)
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
    plan.provider.check(plan.scenario.cluster.hosts, plan.provider_options)
    plan.system.check(plan.declared, plan.scenario.cluster.hosts)
    plan.system.prepare(plan.system_options)


def _declare(cluster: ClusterSpec, system: System, options: Any, workload: Workload, load: Any) -> Declared:
    brokers = system.brokers(options, cluster.hosts)
    return Declared(
        options=options,
        brokers=brokers,
        replication=max(topic.replication for topic in workload.topics(load, brokers)),
        producer=workload.client_settings(load, PRODUCER),
        consumer=workload.client_settings(load, CONSUMER),
        grouped=workload.grouped(load),
    )


def _lasts(kind: str) -> bool:
    nemesis: Nemesis = plugins.load("nemesis", kind, "faults.inject")
    return nemesis.lasts


def _check_fault(spec: FaultSpec, key: str, source: str, provider: HostProvider, duration: int) -> None:
    kinds = as_list(spec.inject)
    for kind in kinds:
        nemesis: Nemesis = plugins.load("nemesis", kind, f"{key}.inject")
        known = [field.alias or name for name, field in FaultSpec.model_fields.items()]
        validated(nemesis.parameters, spec.model_extra or {}, source, f"{key}.", known)
        for power in nemesis.needs:
            if power not in provider.powers:
                raise BadInput(f"{key}.inject: {kind} needs hosts with a {power.__name__}, and these have none")
    if spec.duration is not None and not any(map(_lasts, kinds)):
        raise BadInput(f"{key}.for: {', '.join(kinds)} is over by itself; leave for out")
    if instants(spec)[-1] >= duration:
        raise BadInput(f"{key}: begins after the load has ended; make workload.duration longer")


def _check_expectations(expect: Mapping[str, Any]) -> None:
    known = plugins.anomalies()
    for anomaly in expect:
        if anomaly not in known:
            raise BadInput(f"expect.{anomaly}: no checker knows this anomaly; {nearest(anomaly, known)}")
