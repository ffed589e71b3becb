"""The cluster of a scenario: whether it can carry the load, and what faults may target and do there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract.clients.driver import Driving
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees
from chaoskit.contract.hosts.host import HostProvider
from chaoskit.contract.installed import nemesis
from chaoskit.contract.systems.attach import Attaching
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.system import System, Varied, between_clients
from chaoskit.contract.workloads.traits import Paced, Routed
from chaoskit.contract.workloads.workload import Workload
from chaoskit.scenario.applications import application_roles
from chaoskit.scenario.faults import Allowed
from chaoskit.scenario.loads import missing_powers
from chaoskit.scenario.model import ClusterSpec, Scenario
from chaoskit.scenario.timeline import Targets


def check_hosts(cluster: ClusterSpec, between: bool) -> None:
    """Check that there are hosts for the system, or seats for clients that it runs between.

    Raises:
        BadInput: names the key and the remedy.
    """
    wrong = "cluster.hosts: must be at least 1 (given: 0); {} runs"
    if not between and not cluster.hosts:
        raise BadInput(f"{wrong.format(cluster.system)} on hosts")
    if between and not cluster.seats:
        raise BadInput(f"{wrong.format(cluster.system)} between its clients, on these hosts")


def allowed_in(
    scenario: Scenario,
    hosts: tuple[HostProvider, Any],
    cluster: tuple[System, Any],
    load: tuple[Workload, Any],
    declared: Declared,
) -> Allowed:
    """Return what faults may target and do, given the provider, the system and the workload with their options."""
    targets = Targets(
        hosts=scenario.cluster.host_names,
        clients=[task.client for task in load[0].tasks(load[1])],
        hits_clients=lambda kind: nemesis(kind).hits == "clients",
        lasts=lambda kind: nemesis(kind).lasts,
        zones=scenario.cluster.zones,
        drawn=scenario.cluster.system_hosts or scenario.cluster.host_names,
    )
    return Allowed(
        targets=targets,
        roles=[*_roles(scenario.cluster, *cluster), *application_roles(scenario.cluster)],
        partitions=[*partition_names(declared)],
        host_powers=hosts[0].host_powers(hosts[1]),
        disk_powers=hosts[0].disk_powers(hosts[1]),
        service_powers=_cluster_powers(scenario.cluster, *cluster),
        missing=missing_powers(cluster[0]),
        attached=bool(scenario.cluster.attach),
        inventory=scenario.cluster.names_hosts,
        drivers=bool(scenario.workload.drivers),
        fixed=_why_fixed(scenario, declared),
    )


def _why_fixed(scenario: Scenario, declared: Declared) -> str:
    """Return why messages must stay in the partitions that the workload declares; empty if they need not."""
    if declared.get(Routed) is None:
        return f"workload {scenario.workload.kind} does not follow; use workload.kind: log"
    return "" if scenario.record == "history" else "write record: history"


def partition_names(declared: Declared) -> Iterator[str]:
    """Yield the names of partitions in targets: `topic/number`, and of a topic with one partition, such as a queue, its
    name alone."""
    for topic in declared.topics:
        yield from (f"{name}/{number}" for name, number in topic.places)
        if topic.partitions == 1:
            yield topic.name


def _cluster_powers(cluster: ClusterSpec, system: System, options: Any) -> tuple[type, ...]:
    if cluster.attach:
        return (Installation,) if cluster.names_hosts else ()
    return system.service_powers(options)


def _roles(cluster: ClusterSpec, system: System, options: Any) -> Sequence[str]:
    if cluster.attach and isinstance(system, Attaching):
        return tuple(system.attached_roles)
    if between_clients(system, options):
        return ()
    return tuple(system.roles_with(options)) if isinstance(system, Varied) else system.roles


def check_attach(cluster: ClusterSpec, system: System, declared: Declared) -> None:
    """Check that an existing cluster can carry what is declared.

    Raises:
        BadInput: names the key and the remedy.
    """
    if not isinstance(system, Attaching):
        raise BadInput(f"cluster.attach: attaching to an existing {cluster.system} cluster is not implemented")
    system.check_attach(cluster.attach, declared)


def check_rate(cluster: ClusterSpec, declared: Declared) -> None:
    """Check that the load stays below the limits that the owner of a cluster set.

    Raises:
        BadInput: names the key and the remedy.
    """
    paced = declared.get(Paced)
    for name, limit in (("max_rate", cluster.max_rate), ("max_bytes", cluster.max_bytes)):
        if limit is None:
            continue
        if paced is None:
            raise BadInput(f"cluster.{name}: this kind of workload has no message rate; remove it")
        rate = paced.per_second and paced.per_second * (paced.size if name == "max_bytes" else 1)
        if rate is None or rate > limit:
            given = "max" if rate is None else f"{rate:,}/s"
            raise BadInput(f"workload.rate: {given} is above cluster.{name}, {limit:,.0f}/s; reduce it")


def check_drivers(scenario: Scenario, provider: HostProvider, options: Any) -> None:
    """Check that the inventory has the machines that run the clients.

    Raises:
        BadInput: names the key and the remedy.
    """
    names = scenario.workload.drivers or []
    if names and not scenario.cluster.attach:
        raise BadInput("workload.drivers: other machines can only reach an existing cluster; add cluster.attach")
    known = provider.driver_names(options) if isinstance(provider, Driving) else ()
    for index, name in enumerate(names):
        if name not in known:
            where = nearest(name, known) if known else "add it there under drivers"
            raise BadInput(f"workload.drivers.{index}: the inventory has no driver {name!r}; {where}")


def check_accepted(accept: Sequence[str], guarantees: Guarantees) -> None:
    """Check that what is accepted are known issues of the system.

    Raises:
        BadInput: names the key and the remedy.
    """
    known = [rule.id for rule in guarantees.rules if rule.known]
    for index, rule in enumerate(accept):
        if rule not in known:
            raise BadInput(f"accept.{index}: {rule!r} is not a known issue of this system; {nearest(rule, known)}")
