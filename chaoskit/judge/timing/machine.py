"""What the machine did while a load ran: whether there was room for the system, and for the load generator.

`machine.jsonl` has a line a second; see `chaoskit.run.gauge`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from typing_extensions import TypedDict

from chaoskit.base import store
from chaoskit.base.reading import reading, shaped

_ENDLESS_NS = 2**62
_BUSY, _FULL, _STOLEN = 0.9, 0.05, 0.02
"""Share of a core that a client can use, share of the machine that must be idle, and share that may be stolen."""


class Second(TypedDict):
    """A line of machine.jsonl: what the machine did until `at_ns`, since the line before."""

    at_ns: int
    cores: int
    idle: float
    iowait: float
    steal: float
    clients: dict[str, float]
    late_ms: float


class Machine(TypedDict):
    """The machine during an interval, as in verdict.json.

    Attributes:
        cores: how many it has; all other numbers of cores are means, of processor time.
        idle, iowait, steal: nothing to do; only waiting for disks; taken by the hypervisor.
        clients: used by each client on this machine.
        others: used by everything else: in a lab, the system under test.
        late_ms: by how much the worst of naps of 5 ms was late.
    """

    cores: int
    idle: float
    iowait: float
    steal: float
    clients: dict[str, float]
    others: float
    late_ms: float


def seconds_of(folder: Path) -> list[Second]:
    """Return what the machine did in each second of the load, in order of time; nothing if nobody watched.

    Args:
        folder: the run folder.

    Raises:
        BadInput: the file is damaged.
    """
    path = folder / store.MACHINE
    if not path.exists():
        return []
    with reading(path):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [json.loads(line) for line in lines if line.endswith("\n")]
        seconds: list[Second] = shaped(whole, list[Second])
    return seconds


def late_ms(seconds: Sequence[Second], begin_ns: int, end_ns: int | None) -> float | None:
    """Return by how much the worst nap in an interval was late, in ms; None if nobody watched.

    Args:
        seconds: what the machine did.
        begin_ns, end_ns: the interval, ns since the start of the run; without an end to the last of the seconds.
    """
    begins_ns = [0, *(second["at_ns"] for second in seconds)]
    within = (
        second["late_ms"]
        for second, first_ns in zip(seconds, begins_ns, strict=False)
        if (end_ns is None or first_ns <= end_ns) and second["at_ns"] >= begin_ns
    )
    return max(within, default=None)


def machine_of(seconds: Sequence[Second], begin_ns: int = 0, end_ns: int = _ENDLESS_NS) -> Machine | None:
    """Return what the machine did during the load, or in an interval of it; None if nobody watched.

    Args:
        seconds: what it did in each second.
        begin_ns, end_ns: the interval, ns since the start of the run.
    """
    seconds = [second for second in seconds if begin_ns <= second["at_ns"] <= end_ns]
    if not seconds:
        return None
    clients: defaultdict[str, float] = defaultdict(float)
    for second in seconds:
        for name, used in second["clients"].items():
            clients[name] += used / len(seconds)
    cores = seconds[0]["cores"]
    idle, iowait, steal = (
        fmean(shares) for shares in zip(*((s["idle"], s["iowait"], s["steal"]) for s in seconds), strict=True)
    )
    return Machine(
        cores=cores,
        idle=round(idle, 2),
        iowait=round(iowait, 2),
        steal=round(steal, 2),
        clients={name: round(value, 2) for name, value in clients.items()},
        others=round(max(0.0, cores - idle - iowait - steal - sum(clients.values())), 2),
        late_ms=max(second["late_ms"] for second in seconds),
    )


def full(machine: Machine) -> Iterator[str]:
    """Yield why figures may be those of the machine, and not of the system; nothing if there was room."""
    for name, used in machine["clients"].items():
        if used > _BUSY:
            yield f"{name} used {used:.2f} of the one core that it can use"
    if machine["idle"] < _FULL * machine["cores"]:
        yield f"{machine['idle']:.2f} of {machine['cores']} cores were idle"
    if machine["steal"] > _STOLEN * machine["cores"]:
        yield f"the hypervisor took {machine['steal']:.2f} of {machine['cores']} cores"
