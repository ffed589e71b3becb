"""Faults that do nothing to anybody of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chaoskit.contract.installed import nemesis
from chaoskit.history.format.fault import Fault
from chaoskit.testing.nearmiss.stored import StoredRun

STRANGER_HOST = "n987"
"""A host that no run has."""

STRANGER_CLIENTS = ("consumer-987", "producer-987")
"""Clients that no run has."""

_COUNT, _DELAY, _SNAPSHOT, _PAUSE = "wire", "packet-delay", "snapshot", "client-pause"


def idle_of(run: StoredRun, fault: Fault) -> Iterator[tuple[str, Fault]]:
    """Yield faults that do nothing, with the number, the times and, if they are hosts, the targets of a fault; the
    targets of one of clients are all hosts."""
    hosts = fault.targets if nemesis(fault.kind).hits == "hosts" else tuple(run.hosts)
    parameters: list[tuple[str, dict[str, object]]] = [
        (_COUNT, {"message": "*", "then": "count"}),
        (_DELAY, {"delay": "1ms"}),
        (_SNAPSHOT, {}),
    ]
    for kind, own in parameters:
        yield f"{kind} that does nothing in place of {fault.kind}", _as(fault, kind, hosts, own)
    for client in STRANGER_CLIENTS:
        yield f"pause of {client} in place of {fault.kind}", _as(fault, _PAUSE, (client,), {})


def _as(fault: Fault, kind: str, targets: tuple[str, ...], parameters: dict[str, object]) -> Fault:
    return replace(fault, kind=kind, targets=targets, on=targets, parameters=parameters, damaged=())


def beside(run: StoredRun) -> Iterator[tuple[str, Fault]]:
    """Yield faults that do nothing from before the first to after the last event of a run, under a new number."""
    number = max((fault.number for fault in run.history.recorded_faults), default=-1) + 1
    over_ns = run.end_ns + 1
    template = Fault(
        number,
        _SNAPSHOT,
        0,
        targets=tuple(run.hosts),
        effective_ns=1,
        heal_ns=over_ns,
        healed_ns=over_ns,
        evidence="nothing was done",
    )
    for words, fault in idle_of(run, template):
        yield words.replace(f"in place of {_SNAPSHOT}", "beside"), fault
