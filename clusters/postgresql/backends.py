"""Runs beside a server, on its host, and does to its backends what is done to it: it is stopped, goes on, or is killed.

Each backend has a process group of its own, so that a signal for the group of the server does not reach it; it has the
server's program. Needs no package. Argument: process id of the server.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LOOK_S = 0.02
_STOPPED, _DEAD = ("T", "t"), ("Z", "X", "")


def _state(pid: int) -> str:
    """Return the state of a process (proc_pid_stat(5)); empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _name(pid: int) -> str:
    """Return the name of a process's program (proc_pid_comm(5)); empty if there is none."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8")
    except OSError:
        return ""


def _backends(server: int, name: str) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        if name and _name(int(folder.name)) == name and int(folder.name) != server:
            yield int(folder.name)


def _send(server: int, name: str, number: int) -> None:
    for backend in _backends(server, name):
        with suppress(ProcessLookupError):
            os.kill(backend, number)


def main(server: int) -> None:
    """Follow a server until its end."""
    stopped, name = False, ""
    while (state := _state(server)) not in _DEAD:
        name = _name(server) or name  # what starts it has another one
        was_stopped, stopped = stopped, state in _STOPPED
        if stopped or was_stopped:
            _send(server, name, signal.SIGSTOP if stopped else signal.SIGCONT)
        time.sleep(_LOOK_S)
    _send(server, name, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
