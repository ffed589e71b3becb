"""Starts a process of this machine in the namespaces of a host: its network, its name, its processes; not its files."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

_NAMESPACES = ("net", "uts", "ipc", "pid")

_libc = ctypes.CDLL(None, use_errno=True)


def seated(first_pid: int, argv: Sequence[str], errors: IO[bytes], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that is in the namespaces of a host's first process, and dies with it.

    Namespaces belong to a thread (setns(2)): one that ends afterwards enters them, and this process stays where it is.

    Raises:
        OSError: the first process has ended.
    """

    def start() -> subprocess.Popen[bytes]:
        for name in _NAMESPACES:
            with Path(f"/proc/{first_pid}/ns/{name}").open("rb") as namespace:
                if _libc.setns(namespace.fileno(), 0):
                    raise OSError(ctypes.get_errno(), f"setns of {name}")
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            env={**os.environ, **env},
        )

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(start).result()
