"""Watches the machine while a load runs: one line a second in `machine.jsonl`.

A process of its own: the harness's threads wait for each other, and this one must only wait for the machine. It needs
the standard library alone, so that it starts at once, and ends when the harness does.

    python -I -S gauge.py FILE ORIGIN_NS NAME=PID...
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping

_NAP_NS = 5_000_000
_EVERY_NS = 1_000_000_000
_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def start(path: str, origin_ns: int, processes: Mapping[str, int]) -> subprocess.Popen[bytes]:
    """Start watching; the watcher ends with this process, or when it is terminated.

    Args:
        path: where the lines go.
        origin_ns: start of the run, CLOCK_MONOTONIC.
        processes: the pids of clients, by name.
    """
    named = (f"{name}={pid}" for name, pid in processes.items())
    argv = [sys.executable, "-I", "-S", __file__, path, str(origin_ns), str(os.getpid()), *named]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL)


def watch(path: str, origin_ns: int, parent: int, processes: Mapping[str, int]) -> None:
    """Write a line each second: how many cores were idle, stolen, waiting for disks and used by each client, and by how
    much the worst of the naps of 5 ms was late."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    with open(path, "a", buffering=1, encoding="utf-8") as out:  # noqa: PTH123 - starts faster without pathlib
        last_ns, before, used_before = time.monotonic_ns(), _machine(), _used(processes)
        while os.getppid() == parent:
            worst_ns = _worst_nap_ns(last_ns + _EVERY_NS)
            now_ns, after, used = time.monotonic_ns(), _machine(), _used(processes)
            per_core = ticks_per_s * (now_ns - last_ns) / 1e9
            cores = {state: round((after[state] - before[state]) / per_core, 3) for state in _STATES}
            line = {
                "at_ns": now_ns - origin_ns,
                "cores": os.cpu_count(),
                "idle": cores["idle"],
                "iowait": cores["iowait"],
                "steal": cores["steal"],
                "clients": {
                    name: round((ticks - used_before[name]) / per_core, 3)
                    for name, ticks in used.items()
                    if name in used_before
                },
                "late_ms": round(worst_ns / 1e6, 3),
            }
            out.write(json.dumps(line) + "\n")
            last_ns, before, used_before = now_ns, after, used


def _worst_nap_ns(until_ns: int) -> int:
    worst_ns = 0
    while (began_ns := time.monotonic_ns()) < until_ns:
        time.sleep(_NAP_NS / 1e9)
        worst_ns = max(worst_ns, time.monotonic_ns() - began_ns - _NAP_NS)
    return worst_ns


def _machine() -> dict[str, int]:
    with open("/proc/stat", encoding="ascii") as stat:  # noqa: PTH123
        return dict(zip(_STATES, map(int, stat.readline().split()[1:]), strict=False))


def _used(processes: Mapping[str, int]) -> dict[str, int]:
    """Return the ticks that each process that still runs has used."""
    used = {}
    for name, pid in processes.items():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123
                user, system = stat.read().rpartition(")")[2].split()[11:13]
        except OSError:
            continue
        used[name] = int(user) + int(system)
    return used


def _named(arguments: Iterable[str]) -> dict[str, int]:
    return {name: int(pid) for name, _, pid in (argument.rpartition("=") for argument in arguments)}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the harness, which ends this process
    watch(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), _named(sys.argv[4:]))
