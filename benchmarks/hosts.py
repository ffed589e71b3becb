"""Local hosts: how long until three are up, what a command costs, how fast and how close power cuts are.

Prints one JSON line.

    sudo .venv/bin/python benchmarks/hosts.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.run.warden import watched
from clusters.hosts.lab import LocalOptions, LocalProvider

_COMMANDS = 50


def measure(journal: Journal) -> dict[str, float]:
    """Return the figures of one lab, in ms."""
    began = time.monotonic()
    lab = LocalProvider().provision(journal, 3, LocalOptions())
    up = time.monotonic()
    try:
        for host in lab.hosts:
            host.run(["true"])
        connected = time.monotonic()
        for _ in range(_COMMANDS):
            lab.hosts[0].run(["true"])
        commanded = time.monotonic()
        with ThreadPoolExecutor(3) as pool:
            cut = list(pool.map(_cut, lab.hosts))
            dark = time.monotonic()
            list(pool.map(lambda host: host.power(PowerSwitch).power_on(), lab.hosts))
        on = time.monotonic()
    finally:
        lab.close()
    return {
        "three_hosts_up_ms": (up - began) * 1e3,
        "command_ms": (commanded - connected) / _COMMANDS * 1e3,
        "power_cut_of_three_ms": (dark - commanded) * 1e3,
        "cut_spread_ms": (max(cut) - min(cut)) * 1e3,
        "power_on_of_three_ms": (on - dark) * 1e3,
    }


def _cut(host: ServiceHost) -> float:
    host.power(PowerSwitch).power_cut()
    return time.monotonic()


def main(rounds: int) -> None:
    """Measure and print medians."""
    with watched(f"benchmark-{os.getpid()}") as journal:
        figures = [measure(journal) for _ in range(rounds)]
        journal.close()
    print(json.dumps({name: round(statistics.median(figure[name] for figure in figures), 1) for name in figures[0]}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
