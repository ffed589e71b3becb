"""Starts the application of a trial, once the clients are there that watch it."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from chaoskit.base.errors import RunFailed
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import Endpoints
from chaoskit.history.format.origin import read_run_id
from chaoskit.run.application.instances import Instances
from chaoskit.run.deployment import Deployment
from chaoskit.run.fleet import Fleet
from chaoskit.run.tenancy import Tenancy
from chaoskit.scenario.plan import Plan

_ANY_PORT = 9


def start_application(plan: Plan, deployment: Deployment, fleet: Fleet, folder: Path, tenancy: Tenancy) -> Instances:
    """Start all instances, and wait until they read.

    Args:
        plan: the plan, with an application.
        deployment: the deployment, with the hosts of the instances.
        fleet: the clients that watch and serve the application.
        folder: the run folder.
        tenancy: the names of the trial's topics in the system, and its database.

    Raises:
        RunFailed: it does not start, or does not read.
    """
    application = plan.application
    assert application is not None
    hosts = deployment.application_hosts
    served = {
        topic: f"http://{_reached_from(hosts[0])}:{path}"
        for client in fleet.clients
        for topic, path in client.worker.result.get("serves", {}).items()
    }
    in_system = tenancy.in_system
    names = {"python": sys.executable, "endpoints": deployment.service.power(Endpoints).endpoints()}
    if tenancy.database:
        names["url"] = tenancy.database
    for name, topics in application.names.items():
        places = [served.get(topic, in_system(topic)) for topic in topics]
        names |= {name: ",".join(places), **{f"{name}.{index}": place for index, place in enumerate(places)}}
    wal = folder / "wal"
    instances = Instances(application, hosts, names, folder, fleet.number, read_run_id(wal), in_system(""))

    def owned() -> int:
        if failures := fleet.failures():
            raise RunFailed("\n".join(failures))
        return max(client.worker.result.get("owned", 0) for client in fleet.clients)

    try:
        instances.begin(owned)
    except BaseException:
        instances.stop()
        raise
    return instances


def _reached_from(host: ServiceHost) -> str:
    """Return the address of this machine that a host of the lab reaches."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host.address, _ANY_PORT))
        address: str = probe.getsockname()[0]
        return address
