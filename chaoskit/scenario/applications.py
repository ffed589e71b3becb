"""The application under test in a scenario: its hosts, whom faults may name because of it, and its promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees
from chaoskit.contract.guarantees.promising import Promising
from chaoskit.contract.mistakes import without_wrong
from chaoskit.contract.systems.database import Database
from chaoskit.contract.systems.service import ClassPath
from chaoskit.contract.systems.system import InputFeeding, System
from chaoskit.contract.workloads.application import (
    APPLICATION,
    APPLICATIONS,
    BROKERS,
    DATABASE,
    Application,
    Applying,
)
from chaoskit.contract.workloads.workload import Workload
from chaoskit.scenario.model import ClusterSpec, Scenario


def fed(system: System, workload: Workload, options: Any) -> Any:
    """Return the options of a workload: what feeds an application has the settings that the system's client needs."""
    if isinstance(system, InputFeeding) and isinstance(workload, Applying):
        return workload.fed(options, system.feeder)
    return options


def with_application(scenario: Scenario) -> Scenario:
    """Return a scenario with a host for each instance of its application, and one for its database."""
    cluster, load = scenario.cluster, scenario.workload
    try:
        workload = installed.workload(load.kind, "workload.kind")
    except BadInput:
        return scenario  # it is told where the workload is needed
    options = without_wrong(workload.options, load.model_extra or {}) if isinstance(workload, Applying) else None
    application = workload.application(options) if isinstance(workload, Applying) and options else None
    instances = application.instances if application else 0
    databases = int(application is not None and application.database is not None)
    beside = {"applications": instances, "databases": databases}
    if instances == cluster.applications and databases == cluster.databases:
        return scenario
    return scenario.model_copy(update={"cluster": cluster.model_copy(update=beside)})


def check_application(cluster: ClusterSpec, system: System, options: Any, workload: Workload, load: Any) -> None:
    """Reject instances where there is no lab, and a class path that the system does not have.

    Raises:
        BadInput: names the key and the remedy.
    """
    application = workload.application(load) if isinstance(workload, Applying) else None
    words = (*application.run, *application.env.values()) if application else ()
    if any("{jars}" in word for word in words) and ClassPath not in system.service_powers(options):
        raise BadInput(
            "workload.application.run: there are no {jars} of this system; write the class path of your program"
        )
    if cluster.applications and cluster.attach:
        raise BadInput(
            "workload.application.run: instances are started on hosts of a lab; with cluster.attach, run them yourself "
            "and write external: true"
        )


def application_roles(cluster: ClusterSpec) -> tuple[str, ...]:
    """Return the targets that there are besides hosts and roles of the system, where an application is under test."""
    database = (DATABASE,) if cluster.databases else ()
    return (APPLICATION, APPLICATIONS, BROKERS, *database) if cluster.applications else ()


def database_of(application: Application | None) -> Database | None:
    """Return the database that is run for an application under test; None: there is none."""
    use = application.database if application is not None else None
    return installed.database(use.kind, use.key) if use is not None else None


def with_promise(guarantees: Guarantees, workload: Workload) -> Guarantees:
    """Return a system's guarantees with what the owner of an application under test promises of it."""
    if not isinstance(workload, Promising):
        return guarantees

    def promises(declared: Declared) -> Mapping[str, str]:
        return {**guarantees.promises(declared), **workload.promises(declared)}

    return replace(guarantees, rules=(*guarantees.rules, *workload.rules), promises=promises)
