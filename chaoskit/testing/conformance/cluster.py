"""Conformance suite for systems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.waiting import wait_while
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees
from chaoskit.contract.guarantees.mechanism import Mechanism
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import anomalies
from chaoskit.contract.installed import system as installed
from chaoskit.contract.installed import workload as installed_workload
from chaoskit.contract.power import PowerMissing, optional
from chaoskit.contract.systems.explaining import explanations
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.service import Placing, Service
from chaoskit.contract.systems.system import System, between_clients
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import SideTopics
from chaoskit.run.deployment import start
from chaoskit.testing.conformance.clients import check_clients
from chaoskit.testing.conformance.wants import Wants
from chaoskit.testing.conformance.workload import check_workload

_READY_S = 120.0
_GONE_S = 10.0
_NAMESPACE = "check-"


def check_cluster(
    system: str | System,
    hosts: Sequence[ServiceHost] = (),
    options: Mapping[str, Any] | None = None,
    workloads: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Check a system.

    Args:
        system: the system, or the name of its entry point.
        hosts: clean hosts to deploy it on. If given, the system is deployed and started, its clients are checked in a
            trial, its services are killed on one host and started again, and each workload is checked in its own
            trial. A system between its clients needs none: it is tried on this machine.
        options: options of the system for that deployment.
        workloads: workloads to check on it, by name, with their options.

    Raises:
        AssertionError: lists what is missing.
    """
    instance = installed(system, "system") if isinstance(system, str) else system
    with Wants(f"system {system if isinstance(system, str) else type(system).__name__}") as wants:
        if not wants.attributes(instance, "options", "roles", "models", "guarantees"):
            return
        wants.attributes(instance, "check", "prepare", "deployment", "deploy", "clients", "brokers", "diagnose")
        wants.options(instance.options, "options")
        wants.that(instance.models, "it declares no models")
        _check_powers(instance, wants)
        _check_guarantees(instance, wants)
        with wants.step("default options"):
            _check_options(instance, instance.options(), wants)
        chosen = instance.options.model_validate(options or {})
        if hosts or (workloads and between_clients(instance, chosen)):
            with wants.step("a deployment"):
                _check_deployment(instance, hosts, chosen, wants, workloads or {})


def _check_powers(system: System, wants: Wants) -> None:
    """Check that powers are powers, and that what a system explains does not contradict what it declares."""
    options = system.options()
    always = {*system.service_powers(options), *system.client_powers(options)}
    said: dict[str, Mapping[type, str]] = explanations(system)._asdict()
    wants.powers({*always, *(power for powers in said.values() for power in powers)})
    for power in {*always, *(power for powers in said.values() for power in powers)}:
        places = [name for name, powers in said.items() if power in powers]
        if power in always and "given" not in places:
            places.append("its powers")
        wants.that(len(places) < 2, f"{power.__name__} is in {' and in '.join(places)}")
    for name, powers in said.items():
        for power, reason in powers.items():
            wants.that(reason.strip(), f"`{name}` gives no reason for {power.__name__}")


def _check_guarantees(system: System, wants: Wants) -> None:
    guarantees = system.guarantees
    if not wants.that(isinstance(guarantees, Guarantees), "`guarantees` is not a Guarantees"):
        return
    ids = [rule.id for rule in guarantees.rules]
    for twice in {rule_id for rule_id in ids if ids.count(rule_id) > 1}:
        wants.that(False, f"two rules have the id {twice}")
    for rule in guarantees.rules:
        wants.that("." in rule.id, f"rule {rule.id}: its id is not <system>.<what>")
        for name in ("allows", "source", "shown", "control"):
            wants.that(getattr(rule, name), f"rule {rule.id}: it has no {name}")
        for name in set(rule.allows) - set(anomalies()):
            wants.that(False, f"rule {rule.id} allows {name}, which no checker finds")
    for name in set(guarantees.apart) - set(anomalies()):
        wants.that(False, f"`apart` has {name}, which no checker finds")


def _check_options(system: System, options: Any, wants: Wants) -> None:
    if between_clients(system, options):
        wants.that(system.brokers(options, 0) == 0, "`brokers` for no hosts is not 0, but it runs between its clients")
    else:
        wants.that(1 <= system.brokers(options, 3) <= 3, "`brokers` for 3 hosts is not 1 to 3")
    wants.that(
        system.deployment(options) == system.deployment(system.options()), "equal options give different deployments"
    )
    wants.that(
        system.options.model_validate(options.model_dump(by_alias=True)) == options,
        "its options do not survive a round trip through `model_dump`",
    )
    for capability in system.diagnose():
        wants.that(isinstance(capability, Capability), f"`diagnose` returns {capability!r}")
    declared = Declared(options, 3, system.brokers(options, 3), (Topic("t", next(iter(system.models))),), {}, {})
    for name in set(system.guarantees.promises(declared)) - set(anomalies()):
        wants.that(False, f"it has a promise for {name}, which no checker finds")
    for rule in system.guarantees.rules:
        with wants.step(f"rule {rule.id}"):
            for mechanism in rule.mechanisms(declared):
                known = isinstance(mechanism, Mechanism)
                wants.that(
                    known, f"rule {rule.id}: {mechanism!r} is no mechanism (chaoskit.contract.guarantees.mechanism)"
                )
                wants.that(known and mechanism.why.strip(), f"rule {rule.id}: its mechanism has no `why`")


def _check_deployment(
    system: System,
    hosts: Sequence[ServiceHost],
    options: Any,
    wants: Wants,
    workloads: Mapping[str, Mapping[str, Any]],
) -> None:
    system.prepare(options)
    cluster = system.deploy(hosts, options)
    try:
        with wants.step("starting it"):
            start(cluster)
        with wants.step("a trial"):
            topics = _begin_trial(system, cluster, hosts, options, wants)
            for topic in topics:
                check_clients(system.clients(cluster.client_settings()), topic)
            cluster.end_trial()
        with wants.step("a service that is killed"):
            _check_processes(system, cluster, options, wants)
        for number, (workload, given) in enumerate(workloads.items()):
            with wants.step(f"a trial of the workload {workload}"):
                namespace = f"{_NAMESPACE}{number}-"
                cluster.begin_trial(namespace, options)
                cluster.wait_ready(_READY_S)
                brokers = system.brokers(options, len(hosts))
                _create_topics(cluster, namespace, workload, given, brokers)
                check_workload(workload, system.clients(cluster.client_settings()), namespace, given)
                cluster.end_trial()
    finally:
        cluster.close()


def _begin_trial(
    system: System, cluster: Service, hosts: Sequence[ServiceHost], options: Any, wants: Wants
) -> list[Topic]:
    """Begin a trial; return an empty topic of it for each data model."""
    cluster.begin_trial(_NAMESPACE, options)
    cluster.wait_ready(_READY_S)
    installation = optional(cluster, Installation)
    for host in installation.hosts if installation else ():
        wants.that(installation and installation.answers(host), f"{host.name} does not answer after `wait_ready`")
    settings = cluster.client_settings()
    wants.that(json.loads(json.dumps(settings)) == settings, "`client_settings` are not JSON values")
    copies = max(1, min(3, system.brokers(options, len(hosts))))
    topics = [Topic(f"{_NAMESPACE}{model}", model, 1 if model.lasts else None, copies) for model in system.models]
    for topic in topics:
        cluster.create_topic(topic)
        _check_placements(cluster, topic, hosts, wants)
    _check_held(system, cluster, options, wants)
    if not between_clients(system, options):
        _check_roles(system, cluster, topics[0], hosts, wants)
    return topics


def _check_placements(cluster: Service, topic: Topic, hosts: Sequence[ServiceHost], wants: Wants) -> None:
    placing = optional(cluster, Placing)
    if placing is None:
        return
    names = {host.name for host in hosts}
    placed = {placement.place: placement for placement in placing.placements()}
    for place in topic.places:
        if wants.that(place in placed, f"`placements` does not tell where {place[0]}/{place[1]} is stored"):
            _, leader, holders, in_sync, _ = placed[place]
            wants.that(holders and {*holders, *filter(None, [leader])} <= names, f"{place} is on {leader}, {holders}")
            taking_part = set(in_sync or ()) <= set(holders)
            wants.that(taking_part, f"{place}: {in_sync} are in sync, and not all of them store it: {holders}")


def _check_held(system: System, cluster: Service, options: Any, wants: Wants) -> None:
    for power in system.service_powers(options):
        wants.that(optional(cluster, power), f"its clusters do not have {power.__name__}, which it declares")
    clients = system.clients(cluster.client_settings())
    for power in system.client_powers(options):
        wants.that(optional(clients, power), f"its clients do not have {power.__name__}, which it declares")
    said = explanations(system)
    for power in {*said.never, *said.notyet}:
        for owner, name in ((cluster, "clusters"), (clients, "clients")):
            wants.that(optional(owner, power) is None, f"its {name} have {power.__name__}, which it does not declare")
    try:
        cluster.power(Wants)
    except PowerMissing:
        return
    wants.that(False, "its clusters have powers that do not exist")


def _check_roles(system: System, cluster: Service, topic: Topic, hosts: Sequence[ServiceHost], wants: Wants) -> None:
    placing, names = optional(cluster, Placing), {host.name for host in hosts}
    if placing is None:
        wants.that(not system.roles, "it has roles, but its services do not have `Placing`")
        return
    place = topic.places[0] if topic.places else None
    for role in system.roles:
        try:
            holders = set(placing.find(role, place))
        except ChaoskitError as error:
            wants.that(str(error), f"no host holds {role}, and the error gives no reason")
            continue
        wants.that(holders <= names, f"{role} is {sorted(holders)}; hosts are {sorted(names)}")


def _create_topics(cluster: Service, namespace: str, name: str, given: Mapping[str, Any], brokers: int) -> None:
    workload = installed_workload(name, "workload")
    options = workload.options.model_validate(given)
    beside = workload.side_topics(options) if isinstance(workload, SideTopics) else []
    for topic in (*workload.topics(options, brokers), *beside):
        cluster.create_topic(replace(topic, name=namespace + topic.name))


def _check_processes(system: System, cluster: Service, options: Any, wants: Wants) -> None:
    processes = optional(cluster, Installation)
    if processes is None:
        return
    host = processes.hosts[-1]
    services = processes.services(host)
    if not wants.that(services, f"{host.name} has no services"):
        return
    try:
        for service in services:
            host.signal(service, "KILL")
        still = wait_while(lambda: processes.answers(host), _GONE_S)
        wants.that(not still, f"{host.name} answers {_GONE_S:g} s after its services were killed")
    finally:
        processes.start(host)
        processes.start(host)
    cluster.wait_ready(_READY_S)
    wants.that(processes.answers(host), f"{host.name} does not answer after a restart")
