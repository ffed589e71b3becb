"""The system's services on the targets of a fault: signals, states, and waiting for answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from weakref import WeakKeyDictionary

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.service import Service
from nemeses.beside import others

ANSWER_TIMEOUT_S = 60
"""How long a system may take to answer after it was started."""

_GRACE_S = 20
"""How long a service may take to exit after SIGTERM."""

_BESIDE_S = 10
"""How long to wait for an answer that another fault may prevent."""

_POLL_S = 0.01

_starts: WeakKeyDictionary[ServiceHost, threading.Lock] = WeakKeyDictionary()
"""Several faults may end at once on a host, and each start the system if it does not run."""


def signal_services(targets: Sequence[ServiceHost], cluster: Service, signal: str) -> None:
    """Send a signal to every service of the system, on all hosts in parallel."""

    def act(host: ServiceHost) -> None:
        installation = installed_on(host, cluster)
        for service in installation.services(host) if installation else ():
            host.signal(service, signal)

    on_each(targets, act)


def await_state(targets: Sequence[ServiceHost], cluster: Service, state: ServiceState) -> None:
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
        installation = installed_on(host, cluster)
        if installation and installation.answers(host, timeout_s=0.2):
            raise NemesisError(f"{host.name} still answers")

    on_each(targets, wait)


def check_running(strike: Strike) -> None:
    """Check that the system is running.

    Raises:
        NemesisError: the system is not running on a target.
    """
    if dead := [host.name for host in down(strike)]:
        raise NemesisError(f"the system was not running on {', '.join(dead)}")


def down(strike: Strike) -> list[ServiceHost]:
    """Return the targets on which the system is not running."""
    return [host for host in strike.hosts if ServiceState.GONE in states(host, strike.service)]


def stop_in_order(host: ServiceHost, cluster: Service) -> None:
    """Stop the system's services with SIGTERM; kill those that take too long with SIGKILL."""
    signal_services([host], cluster, "TERM")
    deadline = time.monotonic() + _GRACE_S
    while states(host, cluster) != {ServiceState.GONE}:
        if time.monotonic() > deadline:
            signal_services([host], cluster, "KILL")
            await_state([host], cluster, ServiceState.GONE)
        time.sleep(_POLL_S)


def start_services(strike: Strike, host: ServiceHost) -> None:
    """Start the system on a host if it does not run, unless another fault decides whether it runs."""
    installation = installed_on(host, strike.service)
    if installation and not others(strike, host, HostPart.PROCESSES):
        with _starting(host):
            installation.start(host)


def await_answers(targets: Sequence[ServiceHost], cluster: Powered) -> str:
    """Wait until the system answers on every host; return evidence.

    Raises:
        NemesisError: it does not answer.
    """
    for host in targets:
        _await_answer(host, cluster)
    return f"answering again: {', '.join(host.name for host in targets)}"


def answers_again(strike: Strike) -> str:
    """Wait until the system answers on every target; return evidence.

    Where another fault holds on a target, and the system does not answer, its processes are the evidence, and the
    answer is proved once no fault holds.

    Raises:
        NemesisError: it does not answer.
    """
    sentences, answering, silent = [], [], []
    for host in strike.hosts:
        if why := _await_answer(host, strike.service, partial(others, strike, host)):
            silent.append(host)
            sentences.append(f"{host.name} {why}")
        else:
            answering.append(host.name)
    if silent:
        strike.owed.append(partial(_prove_answers, strike.on(silent)))
    return "; ".join([f"answering again: {', '.join(answering)}", *sentences] if answering else sentences)


def _await_answer(host: ServiceHost, cluster: Powered, beside: Callable[[], str] = str) -> str:
    """Wait until the system answers on a host; return why other faults that hold there prevent that, or nothing.

    Raises:
        NemesisError: it does not answer, and no other fault holds there.
    """
    began, installation = time.monotonic(), installed_on(host, cluster)
    while not (installation.answers(host) if installation else host.reachable()):
        gone = ServiceState.GONE in states(host, cluster)
        waited_s, holding = time.monotonic() - began, beside()
        if holding and (gone or waited_s > _BESIDE_S):
            return f"{'does not run' if gone else 'runs, but does not answer'} while {holding} holds"
        if gone and not holding:
            raise NemesisError(f"the system was started on {host.name}, but exited unexpectedly")
        if waited_s > ANSWER_TIMEOUT_S:
            raise NemesisError(f"{host.name} does not answer {ANSWER_TIMEOUT_S} s after it was healed")
        time.sleep(_POLL_S)
    return ""


def _prove_answers(strike: Strike) -> str:
    on_each(strike.hosts, lambda host: start_services(strike, host))
    return answers_again(strike)


def _starting(host: ServiceHost) -> threading.Lock:
    return _starts.setdefault(host, threading.Lock())


def states(host: ServiceHost, cluster: Powered) -> set[ServiceState]:
    """Return the states of the services on a host; empty if none belong there."""
    installation = installed_on(host, cluster)
    return {host.state(service) for service in installation.services(host)} if installation else set()


def installed_on(host: ServiceHost, cluster: Powered) -> Installation | None:
    """Return the system's installation, if it is on a host; on others only clients run."""
    installation = optional(cluster, Installation)
    return installation if installation and host in installation.hosts else None
