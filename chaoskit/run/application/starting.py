"""Starts the application of a trial, or has its owner do that, once the clients are there that watch it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from chaoskit.base import store
from chaoskit.base.errors import RunFailed
from chaoskit.contract.event import Watcher
from chaoskit.contract.power import optional
from chaoskit.contract.systems.service import ClassPath, Endpoints
from chaoskit.contract.workloads.application import APPLICATION, Application
from chaoskit.history.format.origin import read_run_id
from chaoskit.run.application.external import await_owner
from chaoskit.run.application.instances import Instances
from chaoskit.run.deployment import Deployment
from chaoskit.run.fleet import Fleet
from chaoskit.run.tenancy import Tenancy
from chaoskit.scenario.plan import Plan

_ANY_PORT = 9


def start_application(
    plan: Plan, deployment: Deployment, fleet: Fleet, folder: Path, tenancy: Tenancy, *, watcher: Watcher
) -> Instances | None:
    """Start all instances, or have their owner start them, and wait until they read.

    Args:
        plan: the plan, with an application.
        deployment: the deployment, with the hosts of the instances.
        fleet: the clients that watch and serve the application.
        folder: the run folder.
        tenancy: the names of the trial's topics in the system, and its database.
        watcher: receives the events.

    Returns:
        The instances; None: their owner runs them.

    Raises:
        RunFailed: it does not start, or does not read.
    """
    application = plan.application
    assert application is not None

    def owned() -> int:
        if failures := fleet.failures():
            raise RunFailed("\n".join(failures))
        return max(client.worker.result.get("owned", 0) for client in fleet.clients)

    logs = (folder / store.LOGS / APPLICATION).absolute()
    logs.mkdir(parents=True, exist_ok=True)
    names = _names(application, deployment, fleet, tenancy, logs)
    if not application.instances:
        await_owner(application, {name: text for name, text in names.items() if text}, folder, watcher, owned)
        return None
    own = {"python": sys.executable, **names}
    run_id, namespace = read_run_id(folder / "wal"), tenancy.in_system("")
    instances = Instances(application, deployment.application_hosts, own, folder, fleet.number, run_id, namespace)
    try:
        instances.begin(owned)
    except BaseException:
        instances.stop()
        raise
    return instances


def _names(
    application: Application, deployment: Deployment, fleet: Fleet, tenancy: Tenancy, logs: Path
) -> dict[str, str]:
    """Return what the names in braces stand for, of those that are the same for all instances."""
    names: dict[str, str] = {}
    if (endpoints := optional(deployment.service, Endpoints)) is not None:
        names["endpoints"] = endpoints.endpoints()
    if (jars := optional(deployment.service, ClassPath)) is not None:
        names["jars"] = jars.class_path()
    if tenancy.database:
        names["url"] = tenancy.database
    served = {topic: path for client in fleet.clients for topic, path in client.worker.result.get("serves", {}).items()}
    hosts = deployment.application_hosts or deployment.hosts
    here = _reached_from(hosts[0].address) if hosts else socket.gethostname()

    def place(topic: str) -> str:
        if topic in served:
            return f"http://{here}:{served[topic]}"
        return str(logs / application.files[topic]) if topic in application.files else tenancy.in_system(topic)

    return names | named_places(application.names, place)


def named_places(names: Mapping[str, Sequence[str]], place: Callable[[str], str]) -> dict[str, str]:
    """Return what names in braces stand for: each for its places, separated by commas, and with a number for one.

    >>> named_places({"writes": ["", "payments"]}, str.upper)
    {'writes': 'PAYMENTS', 'writes.1': 'PAYMENTS'}
    """
    places: dict[str, str] = {}
    for name, topics in names.items():
        numbered = {f"{name}.{index}": place(topic) for index, topic in enumerate(topics) if topic}
        places |= {name: ",".join(numbered.values()), **numbered}
    return places


def _reached_from(address: str) -> str:
    """Return the address of this machine that a host of the lab reaches, given its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, _ANY_PORT))
        here: str = probe.getsockname()[0]
        return here
