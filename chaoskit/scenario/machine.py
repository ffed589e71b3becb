"""Whether this machine can run a plan."""

from __future__ import annotations

from typing import Any

import psutil

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.secrets import files_in
from chaoskit.contract.clients.driver import Driving
from chaoskit.contract.faults.nemesis import Preparing
from chaoskit.contract.hosts.host import Equipped, Root, Rooting
from chaoskit.contract.installed import nemesis, ready_system
from chaoskit.contract.systems.system import Rooted
from chaoskit.contract.workloads.workload import Checking
from chaoskit.scenario.applications import database_of
from chaoskit.scenario.plan import Plan

_CLIENT_BYTES = 40 * 2**20
"""Memory of a client that does nothing yet."""


def check_machine(plan: Plan) -> None:
    """Reject what this machine or the client libraries do not support, and download what is missing.

    Raises:
        BadInput: names the remedy.
    """
    problems = Problems(plan.source)
    problems.tried(ready_system, plan.scenario.cluster.system, "cluster.system")
    problems.tried(_check_memory, plan)
    problems.tried(
        plan.provider.check,
        plan.scenario.cluster.lab_size,
        plan.provider_options,
        plan.host_powers_needed,
    )
    if isinstance(plan.workload, Checking):
        problems.tried(plan.workload.check, plan.workload_options)
    problems.raise_any()  # who may make no hosts here may not read the cache either
    if isinstance(plan.provider, Equipped):
        problems.tried(plan.provider.check_tools, plan.provider_options, plan.tools_needed)
    if plan.scenario.workload.drivers and isinstance(plan.provider, Driving):
        files = files_in(plan.scenario.cluster.attach)
        problems.tried(plan.provider.check_drivers, plan.provider_options, plan.scenario.workload.drivers, files)
    if plan.scenario.cluster.attach:
        problems.raise_any()
        return
    problems.tried(plan.system.check, plan.declared)
    problems.tried(plan.system.prepare, plan.system_options)
    problems.tried(_make_roots, plan)
    for fault in plan.faults:
        fault_kind = nemesis(fault.kind)
        if isinstance(fault_kind, Preparing):
            parameters = fault_kind.parameters.model_validate(fault.parameters)
            problems.tried(_prepare, fault_kind, fault.kind, plan, parameters)
    problems.raise_any()


def roots_of(plan: Plan) -> list[Root | None]:
    """Return the root file system of each host of the lab; None: that of this machine."""
    cluster, database = plan.scenario.cluster, database_of(plan.application)
    root = plan.system.root(plan.system_options) if isinstance(plan.system, Rooted) else None
    roots: list[Root | None] = [root] * (cluster.lab_size - cluster.databases)
    return roots if database is None else [*roots, database.root()]


def _make_roots(plan: Plan) -> None:
    use, database = plan.application and plan.application.database, database_of(plan.application)
    if use and database:
        database.check(use.settings, use.key)
    for root in {id(root): root for root in roots_of(plan) if root is not None}.values():
        rooting(plan).make_root(root)


def _prepare(fault: Preparing, kind: str, plan: Plan, parameters: Any) -> None:
    try:
        fault.prepare(plan.system, plan.system_options, parameters)
    except BadInput as error:
        raise BadInput(f"faults: {kind}: {error}") from None


def rooting(plan: Plan) -> Rooting:
    """Return the provider, which must be able to give hosts another root.

    Raises:
        BadInput: it is not.
    """
    if isinstance(plan.provider, Rooting):
        return plan.provider
    cluster = plan.scenario.cluster
    needs = "the database" if cluster.databases else cluster.system
    raise BadInput(f"cluster.provider: {cluster.provider} has no hosts with the root file system that {needs} needs")


def _check_memory(plan: Plan) -> None:
    """Reject more clients than this machine has memory for, each of which is a process."""
    if plan.scenario.workload.drivers:
        return
    available = psutil.virtual_memory().available
    clients = len(plan.workload.tasks(plan.workload_options))
    if clients * _CLIENT_BYTES > available:
        raise BadInput(
            f"workload: {clients:,} clients need {clients * _CLIENT_BYTES / 2**30:,.1f} GiB of memory, "
            f"{available / 2**30:,.1f} GiB are available; use fewer producers and consumers"
        )
