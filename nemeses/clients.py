"""Faults of clients: crash, pause, hijacked name, lost connections. They act on the machine of the harness."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator

import psutil

from chaoskit.contract.nemesis import ClientProcess, Nemesis, NemesisError, Strike

_SEEN_WITHIN_S = 5
_POLL_S = 0.005
_WATCH = 'read -r _; kill -CONT "$1"'
"""The end of the pipe, closed by the harness or by its end, lets the client go on."""


class ClientCrash(Nemesis):
    """SIGKILL in the middle of whatever the client does; healing starts its next incarnation."""

    summary = "kill -9 clients in the middle of their operations; start them again afterwards"
    family = "client"
    hits = "clients"

    def inject(self, strike: Strike) -> None:
        if ended := [client.name for client in strike.clients if not client.running()]:
            raise NemesisError(f"{', '.join(ended)} did not run")
        for client in strike.clients:
            client.crash()

    def verify(self, strike: Strike) -> str:
        alive = [client.name for client in strike.clients if client.running()]
        if alive:
            raise NemesisError(f"{', '.join(alive)} should be dead and run")
        return f"{strike.names} ended by SIGKILL"

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            client.restart()

    def verify_healed(self, strike: Strike) -> str:
        _refuse_dead(strike)
        return f"{strike.names} connected again"


class ClientPause(Nemesis):
    """SIGSTOP: its sockets stay open, it sends no heartbeat; healing, or the end of the harness, wakes it."""

    summary = "stop clients with SIGSTOP, past their session if it lasts so long; let them go on afterwards"
    family = "client"
    hits = "clients"

    def inject(self, strike: Strike) -> None:
        strike.notes["watches"] = [_stop(client) for client in strike.clients]

    def verify(self, strike: Strike) -> str:
        for client in strike.clients:
            _await_stopped(client, True)
        return f"{strike.names} are stopped (state T)"

    def heal(self, strike: Strike) -> None:
        for watch in strike.notes.get("watches", ()):
            _wake(watch)

    def verify_healed(self, strike: Strike) -> str:
        for client in strike.clients:
            _await_stopped(client, False)
        return f"{strike.names} go on"


class ClientHijack(Nemesis):
    """The next incarnation takes over its name while it sleeps; then it wakes and knows nothing of it."""

    summary = "start a client's next incarnation under its name while it sleeps, and wake it as a zombie"
    family = "client"
    hits = "clients"

    def inject(self, strike: Strike) -> None:
        for client in strike.clients:
            watch = _stop(client)
            try:
                client.start_next()
            finally:
                _wake(watch)

    def verify(self, strike: Strike) -> str:
        told = []
        for client in strike.clients:
            if not client.former:
                raise NemesisError(f"{client.name} has no earlier incarnation that still runs")
            if not client.running():
                raise NemesisError(f"the next incarnation of {client.name} does not run")
            told.append(f"process {client.pid} runs as {client.name} beside {', '.join(map(str, client.former))}")
        return "; ".join(told)

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            client.end_former()

    def verify_healed(self, strike: Strike) -> str:
        for client in strike.clients:
            if client.former:
                raise NemesisError(f"beside {client.name} still run {', '.join(map(str, client.former))}")
        _refuse_dead(strike)
        return f"{strike.names} run once"


class ClientDisconnect(Nemesis):
    """The kernel destroys the clients' TCP connections: both ends are reset; clients connect anew."""

    summary = "reset all TCP connections of clients at once; they connect again by themselves"
    family = "client"
    hits = "clients"
    lasts = False

    def inject(self, strike: Strike) -> None:
        before = {client.name: set(_local_ends(client)) for client in strike.clients}
        for ends in before.values():
            for end in ends:
                subprocess.run(["ss", "-K", "-t", "src", end], capture_output=True, check=True)
        strike.notes["before"] = before

    def verify(self, strike: Strike) -> str:
        told = []
        for client in strike.clients:
            before = strike.notes["before"][client.name]
            if not before:
                raise NemesisError(f"{client.name} had no connection that could be reset")
            if left := before & set(_local_ends(client)):
                raise NemesisError(f"{client.name} still has {', '.join(sorted(left))}")
            told.append(f"{len(before)} of {client.name}")
        return f"connections reset: {', '.join(told)}"

    def heal(self, strike: Strike) -> None:
        """Nothing: a reset is over at once."""

    def verify_healed(self, strike: Strike) -> str:
        deadline = time.monotonic() + _SEEN_WITHIN_S
        for client in strike.clients:
            while not any(_local_ends(client)):
                if time.monotonic() > deadline:
                    raise NemesisError(f"{client.name} has not connected again within {_SEEN_WITHIN_S} s")
                time.sleep(_POLL_S)
        return f"{strike.names} have new connections"


def _refuse_dead(strike: Strike) -> None:
    dead = [client.name for client in strike.clients if not client.running() and not client.ended()]
    if dead:
        raise NemesisError(f"{', '.join(dead)} should run again and do not")


def _stop(client: ClientProcess) -> subprocess.Popen[bytes]:
    watch = subprocess.Popen(
        ["sh", "-c", _WATCH, "watch", str(client.pid)], stdin=subprocess.PIPE, start_new_session=True
    )
    os.kill(client.pid, signal.SIGSTOP)
    return watch


def _wake(watch: subprocess.Popen[bytes]) -> None:
    assert watch.stdin is not None
    watch.stdin.close()
    watch.wait()


def _await_stopped(client: ClientProcess, stopped: bool) -> None:
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while ((state := _state(client.pid)) == psutil.STATUS_STOPPED) is not stopped:
        if time.monotonic() > deadline:
            raise NemesisError(f"{client.name} should {'' if stopped else 'not '}be stopped; its state is {state}")
        time.sleep(_POLL_S)


def _state(pid: int) -> str:
    """Return what a process does, in psutil's words."""
    try:
        return str(psutil.Process(pid).status())
    except psutil.NoSuchProcess:
        return psutil.STATUS_DEAD


def _local_ends(client: ClientProcess) -> Iterator[str]:
    """Yield the local addresses, with port, of a client's established connections."""
    listing = subprocess.run(["ss", "-Htnp", "state", "established"], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if re.search(rf"\bpid={client.pid},", line):
            yield line.split()[2]
