"""Faults of disks and clocks on a local host: how long injection takes, and the evidence of effect and healing.

Prints Markdown.

    sudo .venv/bin/python benchmarks/disk_faults.py
"""

from __future__ import annotations

import os
import time
from typing import Any

from chaoskit.base.journal import Journal
from chaoskit.contract.faults.nemesis import Strike
from chaoskit.contract.hosts.clock import SettableClock
from chaoskit.contract.installed import nemesis
from chaoskit.contract.power import P, held
from chaoskit.run.warden import watched
from clusters.hosts.lab import LocalOptions, LocalProvider

_FAULTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("power-cut", {}),
    ("power-cut", {"reboots": 2}),
    ("disk-full", {}),
    ("disk-slow", {"write_bandwidth": "2MiB", "read_iops": 50}),
    ("disk-freeze", {}),
    ("disk-dead", {}),
    ("disk-read-only", {}),
    ("fsync-lies", {}),
    ("disk-errors", {"write": 0.2}),
    ("disk-program", {"flush": "20ms"}),
    ("bit-flip", {"files": "*.log"}),
    ("truncate", {"files": "*.log"}),
    ("snapshot", {}),
    ("time-travel", {}),
    ("disk-wipe", {}),
    ("clock-offset", {"offset": "1h"}),
    ("clock-jump", {"by": "-5s"}),
    ("clock-drift", {"rate": 1.5}),
    ("clock-strobe", {"offset": "30s"}),
)
_ONLY_PROGRAMMABLE = ("fsync-lies", "disk-errors", "disk-program")


class _NoSystem:
    """Stands for a system that has no processes."""

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "a disk without a system")

    def services(self, host: Any) -> tuple[str, ...]:
        return ()

    def start(self, host: Any) -> None:
        host.put(b"content" * 1000, f"{host.data_dir}/segment.log")

    def answers(self, host: Any) -> bool:
        return bool(host.reachable())


def measure(journal: Journal, kind: str) -> None:
    """Print a row for each fault on one kind of disk."""
    options = LocalOptions.model_validate({"size": "512MiB", "kind": kind})
    lab = LocalProvider().provision(journal, 1, options, needed={SettableClock})
    system: Any = _NoSystem()
    try:
        system.start(lab.hosts[0])
        for name, parameters in _FAULTS:
            if kind == "plain" and name in _ONLY_PROGRAMMABLE:
                continue
            fault = nemesis(name)
            validated = fault.parameters.model_validate(parameters)
            strike = Strike("0-benchmark", lab.hosts, (), system, lab.hosts, validated, 7, lambda _: [])
            began = time.monotonic()
            fault.inject(strike)
            took_ms = (time.monotonic() - began) * 1e3
            effect = fault.verify(strike)
            fault.heal(strike)
            healed = fault.verify_healed(strike)
            print(f"| {kind} | `{name}` {parameters or ''} | {took_ms:.0f} | {effect} | {healed} |", flush=True)
    finally:
        lab.close()


def main() -> None:
    """Measure and print."""
    print("| disk | fault | injected in ms | effect | healed |\n|---|---|---|---|---|")
    with watched(f"benchmark-{os.getpid()}") as journal:
        for kind in ("plain", "programmable"):
            measure(journal, kind)
        journal.close()


if __name__ == "__main__":
    main()
