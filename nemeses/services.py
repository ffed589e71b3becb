"""The system's services on the targets of a fault: signals, states, and waiting for answers."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.base.parallel import on_each
from chaoskit.contract.cluster import Cluster, Processes
from chaoskit.contract.host import ServiceHost, ServiceState
from chaoskit.contract.nemesis import NemesisError, Strike
from chaoskit.contract.power import optional

ANSWER_TIMEOUT_S = 60
"""How long a system may take to answer after it was started."""

_GRACE_S = 20
"""How long a service may take to exit after SIGTERM."""

_POLL_S = 0.01


def signal_services(targets: Sequence[ServiceHost], cluster: Cluster, signal: str) -> None:
    """Send a signal to every service of the system, on all hosts in parallel."""

    def act(host: ServiceHost) -> None:
        for service in cluster.power(Processes).services(host):
            host.signal(service, signal)

    on_each(targets, act)


def await_state(targets: Sequence[ServiceHost], cluster: Cluster, state: ServiceState) -> None:
    """Wait until every service is in this state and does not answer.

    Raises:
        NemesisError: a service is in another state, or still answers.
    """
    deadline = time.monotonic() + 5

    def wait(host: ServiceHost) -> None:
        while (seen := states(host, cluster)) != {state}:
            if time.monotonic() > deadline:
                raise NemesisError(f"services on {host.name} should be {state.value}, but are {seen}")
            time.sleep(_POLL_S)
        if cluster.answers(host, timeout_s=0.2):
            raise NemesisError(f"{host.name} still answers")

    on_each(targets, wait)


def check_running(strike: Strike) -> None:
    """Check that the system is running.

    Raises:
        NemesisError: the system is not running on a target.
    """
    dead = [host.name for host in strike.hosts if ServiceState.GONE in states(host, strike.cluster)]
    if dead:
        raise NemesisError(f"the system was not running on {', '.join(dead)}")


def stop_in_order(host: ServiceHost, cluster: Cluster) -> None:
    """Stop the system's services with SIGTERM; kill those that take too long with SIGKILL."""
    signal_services([host], cluster, "TERM")
    deadline = time.monotonic() + _GRACE_S
    while states(host, cluster) != {ServiceState.GONE}:
        if time.monotonic() > deadline:
            signal_services([host], cluster, "KILL")
            await_state([host], cluster, ServiceState.GONE)
        time.sleep(_POLL_S)


def await_answers(targets: Sequence[ServiceHost], cluster: Cluster) -> str:
    """Wait until the system answers on every host; return evidence.

    Raises:
        NemesisError: it does not answer.
    """
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    for host in targets:
        while not cluster.answers(host):
            if ServiceState.GONE in states(host, cluster):
                raise NemesisError(f"the system was started on {host.name}, but exited unexpectedly")
            if time.monotonic() > deadline:
                raise NemesisError(f"{host.name} does not answer {ANSWER_TIMEOUT_S} s after it was healed")
            time.sleep(_POLL_S)
    return f"answering again: {', '.join(host.name for host in targets)}"


def states(host: ServiceHost, cluster: Cluster) -> set[ServiceState]:
    """Return the states of the services on a host; empty if the cluster does not expose them."""
    processes = optional(cluster, Processes)
    return {host.state(service) for service in processes.services(host)} if processes else set()
