"""The system's services on the hosts that a fault hits: signal them, see what they do, wait for answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from chaoskit.contract.cluster import Cluster, Processes
from chaoskit.contract.host import ServiceHost, ServiceState
from chaoskit.contract.nemesis import NemesisError, Strike
from chaoskit.contract.power import optional

Result = TypeVar("Result")
Target = TypeVar("Target")

ANSWER_TIMEOUT_S = 60
"""How long a system may take to answer again after it was started."""

_GRACE_S = 20
"""How long a service may take to end by itself."""

_POLL_S = 0.01


def on_each(targets: Sequence[Target], act: Callable[[Target], Result]) -> list[Result]:
    """Do something on all targets at once; return what each gave, in order, or raise the first error."""
    with ThreadPoolExecutor(max(1, len(targets))) as pool:
        return list(pool.map(act, targets))


def signal_services(targets: Sequence[ServiceHost], cluster: Cluster, signal: str) -> None:
    """Send a signal to every service of the system on every host at once."""

    def act(host: ServiceHost) -> None:
        for service in cluster.power(Processes).services(host):
            host.signal(service, signal)

    on_each(targets, act)


def await_state(targets: Sequence[ServiceHost], cluster: Cluster, state: ServiceState) -> None:
    """Wait until every service is in this state and answers nothing.

    Raises:
        NemesisError: a service is not, or still answers.
    """
    deadline = time.monotonic() + 5
    for host in targets:
        while (seen := states(host, cluster)) != {state}:
            if time.monotonic() > deadline:
                raise NemesisError(f"services on {host.name} should be {state.value} and are {seen}")
            time.sleep(_POLL_S)
        if cluster.answers(host, timeout_s=0.2):
            raise NemesisError(f"{host.name} still answers")


def check_running(strike: Strike) -> None:
    """Refuse to end what has ended already.

    Raises:
        NemesisError: the system does not run on a target.
    """
    dead = [host.name for host in strike.hosts if ServiceState.GONE in states(host, strike.cluster)]
    if dead:
        raise NemesisError(f"the system did not run on {', '.join(dead)}")


def stop_in_order(host: ServiceHost, cluster: Cluster) -> None:
    """End the system's services with SIGTERM, or with SIGKILL those that take too long."""
    signal_services([host], cluster, "TERM")
    deadline = time.monotonic() + _GRACE_S
    while states(host, cluster) != {ServiceState.GONE}:
        if time.monotonic() > deadline:
            signal_services([host], cluster, "KILL")
            await_state([host], cluster, ServiceState.GONE)
        time.sleep(_POLL_S)


def await_answers(targets: Sequence[ServiceHost], cluster: Cluster) -> str:
    """Wait until the system answers on every host; return that as evidence.

    Raises:
        NemesisError: it does not.
    """
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    for host in targets:
        while not cluster.answers(host):
            if ServiceState.GONE in states(host, cluster):
                raise NemesisError(f"on {host.name} the system was started and ended by itself")
            if time.monotonic() > deadline:
                raise NemesisError(f"{host.name} does not answer {ANSWER_TIMEOUT_S} s after it was healed")
            time.sleep(_POLL_S)
    return f"{', '.join(host.name for host in targets)} answer again"


def states(host: ServiceHost, cluster: Cluster) -> set[ServiceState]:
    """Return what the services on a host are doing; nothing where they are nobody's to look at."""
    processes = optional(cluster, Processes)
    return {host.state(service) for service in processes.services(host)} if processes else set()
