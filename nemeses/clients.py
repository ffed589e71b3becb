"""Faults of clients: crash, orderly end, pause, hang, hijacked name, lost connections.

They act on the harness machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import psutil

from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import ClientProcess, Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act

_SEEN_WITHIN_S = 5
_POLL_S = 0.005
_LEAVE_S = 60
"""A client that leaves first sends what it has queued, and waits for the answers."""
_OPERATION_S = 30
"""A client that is told to hang ends its operation first, which may wait for an answer."""
_WATCH = 'read -r _; kill -CONT "$@"'
"""The client continues when its pipe is closed, by the harness or because the harness dies."""


@dataclass(slots=True)
class _Stopped:
    """The processes that resume the clients."""

    watches: list[subprocess.Popen[bytes]] = field(default_factory=list)


@dataclass(slots=True)
class _Connected:
    """The local ends of the connections of each client before, by its name."""

    before: dict[str, set[str]] = field(default_factory=dict)


class _OnClients(Nemesis):
    """A fault of clients."""

    family = "client"
    hits = "clients"

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.CLIENT}


class _Restarting(_OnClients):
    """A fault that ends clients; healing starts the next incarnation of each."""

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            client.restart()

    def verify_healed(self, strike: Strike) -> Evidence:
        _refuse_dead(strike)
        return Evidence(f"connected again: {strike.names}")


class ClientCrash(_Restarting):
    """Sends SIGKILL at an arbitrary point of the client's work; healing starts the next incarnation."""

    summary = "kill -9 clients during their operations; restart them afterwards"
    does = Act.ENDS
    abrupt = True

    def inject(self, strike: Strike) -> None:
        _refuse_ended(strike)
        for client in strike.clients:
            client.crash()

    def verify(self, strike: Strike) -> Evidence:
        alive = [client.name for client in strike.clients if client.running()]
        if alive:
            raise NemesisError(f"still running after SIGKILL: {', '.join(alive)}")
        return Evidence(f"killed with SIGKILL: {strike.names}")


class ClientPause(_OnClients):
    """Sends SIGSTOP: sockets stay open, but no heartbeats are sent. Healing, or the harness's death, resumes it."""

    summary = "pause clients with SIGSTOP, beyond their session timeout if long enough; resume them afterwards"
    does = Act.SILENCES

    def inject(self, strike: Strike) -> None:
        strike.kept(_Stopped).watches += [_stop(client) for client in strike.clients]

    def verify(self, strike: Strike) -> Evidence:
        for client in strike.clients:
            _await_stopped(client, True)
        return Evidence(f"stopped (state T): {strike.names}")

    def heal(self, strike: Strike) -> None:
        for watch in strike.kept(_Stopped).watches:
            _wake(watch)

    def verify_healed(self, strike: Strike) -> Evidence:
        for client in strike.clients:
            _await_stopped(client, False)
        return Evidence(f"resumed: {strike.names}")


class ClientHang(_OnClients):
    """Has the client stand still between two operations, as one whose handler does not return: its process, and the
    threads of its library, go on. Healing, or the harness's death, lets it go on."""

    summary = "make clients hang as if in their handlers: heartbeats continue, nothing is polled, sent or settled"
    does = Act.HANGS

    def inject(self, strike: Strike) -> None:
        _refuse_ended(strike)
        for client in strike.clients:
            client.hang()

    def verify(self, strike: Strike) -> Evidence:
        for client in strike.clients:
            _await_hung(client, True)
        hung = [f"{client.name} (process {client.pid}, {_state(client.pid)})" for client in strike.clients]
        return Evidence(f"hung between two operations: {', '.join(hung)}")

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            client.go_on()

    def verify_healed(self, strike: Strike) -> Evidence:
        for client in strike.clients:
            _await_hung(client, False)
        _refuse_dead(strike)
        return Evidence(f"continuing: {strike.names}")


class ClientLeave(_Restarting):
    """Has the client shut down in order, as one that is stopped or scaled in; healing starts the next incarnation."""

    summary = "shut clients down in order, so that they leave their groups; start them again, so that they join"
    does = Act.STOPS

    def inject(self, strike: Strike) -> None:
        _refuse_ended(strike)
        for client in strike.clients:
            client.leave()

    def verify(self, strike: Strike) -> Evidence:
        deadline = time.monotonic() + _LEAVE_S
        for client in strike.clients:
            if wait_while(client.running, deadline - time.monotonic(), every_s=_POLL_S):
                raise NemesisError(f"{client.name} has not ended within {_LEAVE_S} s: its operation goes on")
            if not client.left():
                raise NemesisError(f"{client.name} ended with an error")
        return Evidence(f"ended in order: {strike.names}")

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            client.crash()  # one that has left is not there any more; one that has not would end later, unseen
        super().heal(strike)


class ClientHijack(_OnClients):
    """Pauses a client while its next incarnation takes over its name; then resumes it, unaware of the takeover."""

    summary = "start a client's next incarnation under the same name while it is paused, then resume it as a zombie"
    does = Act.SILENCES | Act.ENDS

    def inject(self, strike: Strike) -> None:
        for client in strike.clients:
            watch = _stop(client)
            try:
                client.start_next()
            finally:
                _wake(watch)

    def verify(self, strike: Strike) -> Evidence:
        restarts = []
        for client in strike.clients:
            if not client.former:
                raise NemesisError(f"no earlier incarnation of {client.name} is running")
            if not client.running():
                raise NemesisError(f"the next incarnation of {client.name} is not running")
            restarts.append(f"{client.name} runs as process {client.pid} and as {', '.join(map(str, client.former))}")
        return Evidence("; ".join(restarts))

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            client.end_former()

    def verify_healed(self, strike: Strike) -> Evidence:
        for client in strike.clients:
            if client.former:
                raise NemesisError(
                    f"earlier incarnations of {client.name} are still running: {', '.join(map(str, client.former))}"
                )
        _refuse_dead(strike)
        return Evidence(f"running once: {strike.names}")


class ClientDisconnect(_OnClients):
    """Makes the kernel destroy the clients' TCP connections: both ends are reset, and clients reconnect."""

    summary = "reset all TCP connections of clients; they reconnect on their own"
    does = Act.BREAKS
    lasts = False

    def inject(self, strike: Strike) -> None:
        before = {client.name: set(_local_ends(client)) for client in strike.clients}
        for ends in before.values():
            for end in ends:
                subprocess.run(["ss", "-K", "-t", "src", end], capture_output=True, check=True)
        strike.kept(_Connected).before = before

    def verify(self, strike: Strike) -> Evidence:
        reset: dict[str, int] = {}
        for client in strike.clients:
            before = strike.kept(_Connected).before[client.name]
            if not before:
                raise NemesisError(f"{client.name} had no connections to reset")
            if left := before & set(_local_ends(client)):
                raise NemesisError(f"{client.name} still has {', '.join(sorted(left))}")
            reset[client.name] = len(before)
        listed = ", ".join(f"{count} of {name}" for name, count in reset.items())
        return Evidence(f"connections reset: {listed}", {name: {"connections": count} for name, count in reset.items()})

    def heal(self, strike: Strike) -> None:
        """Do nothing: a reset is instantaneous."""

    def verify_healed(self, strike: Strike) -> Evidence:
        deadline = time.monotonic() + _SEEN_WITHIN_S
        for client in strike.clients:
            while not any(_local_ends(client)):
                if time.monotonic() > deadline:
                    raise NemesisError(f"{client.name} did not reconnect within {_SEEN_WITHIN_S} s")
                time.sleep(_POLL_S)
        return Evidence(f"reconnected: {strike.names}")


def _refuse_ended(strike: Strike) -> None:
    if ended := [client.name for client in strike.clients if not client.running()]:
        raise NemesisError(f"not running: {', '.join(ended)}")


def _refuse_dead(strike: Strike) -> None:
    dead = [client.name for client in strike.clients if not client.running() and not client.ended()]
    if dead:
        raise NemesisError(f"not running again: {', '.join(dead)}")


def _stop(client: ClientProcess) -> subprocess.Popen[bytes]:
    processes = _processes(client)
    watch = subprocess.Popen(
        ["sh", "-c", _WATCH, "watch", *map(str, processes)], stdin=subprocess.PIPE, start_new_session=True
    )
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    return watch


def _processes(client: ClientProcess) -> list[int]:
    """Return a client's process, and those that it has started, such as the JVM of a Java client."""
    try:
        return [client.pid, *(child.pid for child in psutil.Process(client.pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return [client.pid]


def _wake(watch: subprocess.Popen[bytes]) -> None:
    assert watch.stdin is not None
    watch.stdin.close()
    watch.wait()


def _await_stopped(client: ClientProcess, stopped: bool) -> None:
    deadline = time.monotonic() + _SEEN_WITHIN_S
    for pid in _processes(client):
        while ((state := _state(pid)) == psutil.STATUS_STOPPED) is not stopped:
            if time.monotonic() > deadline:
                raise NemesisError(f"{client.name} should {'' if stopped else 'not '}be stopped; its state is {state}")
            time.sleep(_POLL_S)


def _await_hung(client: ClientProcess, hung: bool) -> None:
    deadline = time.monotonic() + _OPERATION_S
    while client.hung() is not hung:
        if not client.running():
            raise NemesisError(f"{client.name} has ended")
        if time.monotonic() > deadline:
            word = "stopped" if hung else "continued"
            raise NemesisError(f"{client.name} has not {word} within {_OPERATION_S} s: its operation did not end")
        time.sleep(_POLL_S)


def _state(pid: int) -> str:
    """Return the status of a process, as reported by psutil."""
    try:
        return str(psutil.Process(pid).status())
    except psutil.NoSuchProcess:
        return psutil.STATUS_DEAD


def _local_ends(client: ClientProcess) -> Iterator[str]:
    """Yield the local addresses, with port, of a client's established connections."""
    listing = subprocess.run(["ss", "-Htnp", "state", "established"], capture_output=True, text=True, check=True).stdout
    own = "|".join(map(str, _processes(client)))
    for line in listing.splitlines():
        if re.search(rf"\bpid=({own}),", line):
            yield line.split()[2]
