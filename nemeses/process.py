"""Faults of processes: kill, pause, restart, rolling restart. They act on the system's own services."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chaoskit.cluster import Cluster
from chaoskit.host import ServiceHost, ServiceState
from chaoskit.nemesis import NemesisError, NoParameters

ANSWER_TIMEOUT_S = 60
"""How long a system may take to answer again after it was started."""

_GRACE_S = 20
"""How long a service may take to end by itself when it is restarted."""

_POLL_S = 0.01


class Kill:
    """SIGKILL to the system's services; healing starts them again."""

    summary = "kill -9 the system's processes on the hosts; start them again afterwards"
    parameters = NoParameters
    lasts = True
    needs = ()

    def inject(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        signal_services(targets, cluster, "KILL")

    def verify(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        await_state(targets, cluster, ServiceState.GONE)
        return f"no process of the system on {names(targets)}; no answer from it"

    def heal(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        on_each(targets, cluster.start)

    def verify_healed(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        return await_answers(targets, cluster)


class Pause:
    """SIGSTOP to the system's services: alive for the network's eyes, deaf; healing sends SIGCONT."""

    summary = "stop the system's processes with SIGSTOP; let them go on afterwards"
    parameters = NoParameters
    lasts = True
    needs = ()

    def inject(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        signal_services(targets, cluster, "STOP")

    def verify(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        await_state(targets, cluster, ServiceState.PAUSED)
        return f"processes on {names(targets)} are stopped (state T) and do not answer"

    def heal(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        signal_services(targets, cluster, "CONT")

    def verify_healed(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        return await_answers(targets, cluster)


class Restart:
    """SIGTERM, wait for an orderly end, start again; over when the service was started."""

    summary = "end the system's processes in an orderly way and start them again, on all hosts at once"
    parameters = NoParameters
    lasts = False
    needs = ()

    def inject(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        on_each(targets, lambda host: _restart(host, cluster))

    def verify(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        return f"processes on {names(targets)} ended and were started again"

    def heal(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        on_each(targets, cluster.start)

    def verify_healed(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        return await_answers(targets, cluster)


class RollingRestart(Restart):
    """Restart one host after the other, each when the one before is ready and in sync again."""

    summary = "restart the hosts one after the other, waiting until all replicas are in sync in between"

    def inject(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        for host in targets:
            _restart(host, cluster)
            cluster.wait_ready(ANSWER_TIMEOUT_S)


def _restart(host: ServiceHost, cluster: Cluster) -> None:
    signal_services([host], cluster, "TERM")
    deadline = time.monotonic() + _GRACE_S
    while _states(host, cluster) != {ServiceState.GONE}:
        if time.monotonic() > deadline:
            signal_services([host], cluster, "KILL")
            await_state([host], cluster, ServiceState.GONE)
        time.sleep(_POLL_S)
    cluster.start(host)


def names(targets: Sequence[ServiceHost]) -> str:
    """Return the names of hosts, for evidence."""
    return ", ".join(host.name for host in targets)


def on_each(targets: Sequence[ServiceHost], act: Any) -> None:
    """Do something on all hosts at once; raise the first error."""
    with ThreadPoolExecutor(max(1, len(targets))) as pool:
        list(pool.map(act, targets))


def signal_services(targets: Sequence[ServiceHost], cluster: Cluster, signal: str) -> None:
    """Send a signal to every service of the system on every host at once."""

    def act(host: ServiceHost) -> None:
        for service in cluster.services(host):
            host.signal(service, signal)

    on_each(targets, act)


def await_state(targets: Sequence[ServiceHost], cluster: Cluster, state: ServiceState) -> None:
    """Wait until every service is in this state and answers nothing.

    Raises:
        NemesisError: a service is not, or still answers.
    """
    deadline = time.monotonic() + 5
    for host in targets:
        while (seen := _states(host, cluster)) != {state}:
            if time.monotonic() > deadline:
                raise NemesisError(f"services on {host.name} should be {state.value} and are {seen}")
            time.sleep(_POLL_S)
        if cluster.answers(host, timeout_s=0.2):
            raise NemesisError(f"{host.name} still answers")


def await_answers(targets: Sequence[ServiceHost], cluster: Cluster) -> str:
    """Wait until the system answers on every host; return that as evidence.

    Raises:
        NemesisError: it does not.
    """
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    for host in targets:
        while not cluster.answers(host):
            if ServiceState.GONE in _states(host, cluster):
                raise NemesisError(f"on {host.name} the system was started and ended by itself")
            if time.monotonic() > deadline:
                raise NemesisError(f"{host.name} does not answer {ANSWER_TIMEOUT_S} s after it was healed")
            time.sleep(_POLL_S)
    return f"{names(targets)} answer again"


def _states(host: ServiceHost, cluster: Cluster) -> set[ServiceState]:
    return {host.state(service) for service in cluster.services(host)}
