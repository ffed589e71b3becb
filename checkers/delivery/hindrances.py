"""Which faults may have kept messages from clients: only these, and the time to recover from them, excuse silence.

A fault that delays nobody, such as a wrong clock, excuses nothing. One on clients excuses these. One on hosts excuses
everybody, for a client may be connected to any host, and a group or a subscription kept by any; but a reader that asks
the hosts that store its partition is excused only by faults that may have hit one of these, or a link.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.checkers.checker import FaultWindow, PartitionSetting
from checkers.arrays.view import LogView

Span = tuple[int, int]


def hindering(setting: PartitionSetting, clients: Collection[str], *, direct: bool = False) -> list[FaultWindow]:
    """Return the faults that may have kept messages of a partition from some clients, in order of time.

    Args:
        setting: of the partition.
        clients: the clients, by name.
        direct: whether they ask the hosts that store the partition, and depend on no other one.
    """
    chosen = [fault for fault in setting.faults if fault.delays and _reaches(fault, clients, direct=direct)]
    return sorted(chosen, key=lambda fault: fault.start_ns)


def _reaches(fault: FaultWindow, clients: Collection[str], *, direct: bool) -> bool:
    if fault.on_hosts:
        return not (direct and fault.elsewhere)
    return not fault.targets or not set(fault.targets).isdisjoint(clients)


def concerned(operations: pa.Table, view: LogView, processes: Collection[int]) -> frozenset[str]:
    """Return the names of those clients, whatever their incarnation, on which it depends what some clients are given:
    themselves, and who sends in transactions, for what is behind an open one is not readable yet.

    Args:
        operations: schema `OPERATIONS`.
        view: the partition.
        processes: the processes of the clients.
    """
    rows, txn = view.operations, operations["txn"]
    senders = np.unique(view.sends.operation) if txn.null_count < len(txn) else np.zeros(0, np.int64)
    senders = senders[pc.is_valid(txn).to_numpy()[senders]]
    names = operations["client"].filter(pa.array(np.isin(rows.process, [*processes, *rows.process[senders]])))
    return frozenset(name.partition("#")[0] for name in names.unique().to_pylist())


def calm(faults: Iterable[FaultWindow], from_ns: int, until_ns: int, bound_ns: int) -> list[Span]:
    """Return what is left of an interval without the times of faults, and the bound after each.

    Args:
        faults: in order of time.
        from_ns, until_ns: the interval.
        bound_ns: how long the system may take to recover.
    """
    begin_ns, left = from_ns, []
    for fault in faults:
        if (stop_ns := min(fault.start_ns, until_ns)) > begin_ns:
            left.append((begin_ns, stop_ns))
        begin_ns = max(begin_ns, until_ns if fault.healed_ns is None else fault.healed_ns + bound_ns)
    return [*left, (begin_ns, until_ns)] if until_ns > begin_ns else left
