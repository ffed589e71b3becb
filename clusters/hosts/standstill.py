"""Stops all processes of a local host at one instant, as a machine that loses power does.

Cable and disks go one after the other. On a busy machine the one who cuts them is kept waiting in between, for tens
of milliseconds: a broker that still ran would flush meanwhile what nobody can ask for any more, and keep it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path


def stop_all(first: int, *, without: Collection[int]) -> None:
    """Send SIGSTOP to all processes in the process namespace of a host. Unlike SIGKILL, it closes no connection.

    Args:
        first: id of the host's first process.
        without: ids of those that go on, such as servers of disks.
    """
    namespace = _namespace(first)
    if namespace in (None, _namespace(os.getpid())):  # it has exited
        return
    # All are listed before the first is stopped, so that the last is stopped microseconds after it.
    pids = {int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()}
    own = [pid for pid in pids - {*without} if _namespace(pid) == namespace]
    for pid in own:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def _namespace(pid: int) -> str | None:
    """Return which process namespace a process is in; None if it has exited."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return None
