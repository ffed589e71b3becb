"""What was open while a fault held: without a send in flight it can have doubled nothing, without an open transaction
torn none, and a member of a group without a partition handed none over. A run whose faults found nothing open proves
nothing about that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chaoskit.base.latency import Flags, Ints
from chaoskit.contract.guarantees.guarantee import FOREVER, Declared
from chaoskit.contract.workloads.traits import Group, Resends, Transactions
from chaoskit.contract.workloads.workload import CONSUMER
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.faults.consequence import hits_clients
from chaoskit.judge.faults.readers import Readers
from chaoskit.judge.timing.counting import OperationColumns, is_word

_COLUMNS = ["op", "f", "client", "process", "start_ns", "end_ns", "outcome"]
_OF_RETRIES = ("duplicate", "reordered", "dropped-as-duplicate")
"""Anomalies that need a send in flight."""

_SENDS, _TRANSACTIONS, _OWNED = "sends_in_flight", "transactions_open", "partitions_owned"


def open_under(history: History, readers: Sequence[Readers], declared: Declared) -> dict[int, dict[str, int]]:
    """Return what was open while each fault held, by its number, as keys of verdict.json.

    `sends_in_flight`: of the clients that it hit, or of all if it hit none. `transactions_open`: the same of
    transactions, if producers write in them. `partitions_owned`: how many partitions the members of groups that it hit
    had when it began, if the system tells who has which.

    Args:
        history: the history of the run.
        readers: who read each partition.
        declared: what the run declared.
    """
    faults = history.recorded_faults
    if not faults:
        return {}
    table = history.operations.select(_COLUMNS)
    operations = OperationColumns.of(table)
    end_ns = np.where(operations.end_ns < 0, FOREVER, operations.end_ns)
    opened = _transactions(table, operations, end_ns) if declared.get(Transactions) else None
    owners_known = declared.get(Group) is not None and any(reader.owners for reader in readers)
    counts: dict[int, dict[str, int]] = {}
    for fault in faults:
        hit = frozenset(fault.targets) if hits_clients(fault) else None
        sends = operations.sends & _under(fault, operations.start_ns, end_ns) & _of(operations.client, operations, hit)
        own = counts[fault.number] = {_SENDS: int(np.count_nonzero(sends))}
        if opened is not None:
            client, begun_ns, ended_ns = opened
            own[_TRANSACTIONS] = int((_under(fault, begun_ns, ended_ns) & _of(client, operations, hit)).sum())
        members = frozenset(name for name in hit or () if name.startswith(f"{CONSUMER}-"))
        if members and owners_known:
            own[_OWNED] = sum(_owns(reader, members, fault.start_ns) for reader in readers)
    return counts


def nothing_open(
    faults: Sequence[Mapping[str, Any]], declared: Declared | None, expected: Collection[str]
) -> Iterator[str]:
    """Yield the doubts that no fault of verdict.json that took effect found anything open of what the run is about."""
    effective = [fault for fault in faults if fault["effective"]]
    if declared is None or not effective:
        return
    about_retries = declared.get(Resends) is not None or any(name in expected for name in _OF_RETRIES)
    if about_retries and _none(effective, _SENDS):
        yield "no send was in flight while a fault held: nothing can have been sent twice; send while it lasts"
    if declared.get(Transactions) and _none(effective, _TRANSACTIONS):
        yield "no transaction was open while a fault held: none can have been torn; send while it lasts"
    if _none(effective, _OWNED):
        yield (
            "the members of the group that were hit had no partition: nothing was handed over; give the group no more "
            "members than there are partitions"
        )


def _none(faults: Sequence[Mapping[str, Any]], what: str) -> bool:
    """Return whether none of some faults found anything of a kind open, as far as that is known of all of them."""
    return all(fault.get(what) == 0 for fault in faults)


def _under(fault: Fault, begin_ns: Ints, end_ns: Ints) -> Flags:
    until_ns = FOREVER if fault.healed_ns is None else fault.healed_ns
    flags: Flags = (begin_ns <= until_ns) & (end_ns >= fault.start_ns)
    return flags


def _of(client: Ints, operations: OperationColumns, names: frozenset[str] | None) -> Flags:
    """Return which rows are those of some clients; None: of any."""
    if names is None:
        return np.ones(client.size, np.bool_)
    numbers = [number for number, name in enumerate(operations.names) if name in names]
    return np.isin(client, numbers)


def _transactions(table: Any, operations: OperationColumns, end_ns: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the client of each transaction, when it was begun, and when it had ended; one that a crash left open was
    open until the end."""
    begin, end = (np.flatnonzero(is_word(table["f"], f)) for f in ("begin", "end"))
    whole = np.flatnonzero(operations.whole >= 0)
    process = table["process"].to_numpy()
    ended_ns = np.full(begin.size, FOREVER, np.int64)
    for one in np.unique(process[begin]):
        own, its_ends = np.flatnonzero(process[begin] == one), end[process[end] == one]
        following = np.searchsorted(its_ends, begin[own])
        known = following < its_ends.size
        ended_ns[own[known]] = end_ns[its_ends[following[known]]]
    return (
        operations.client[np.concatenate([begin, whole])],
        operations.start_ns[np.concatenate([begin, whole])],
        np.concatenate([ended_ns, end_ns[whole]]),
    )


def _owns(readers: Readers, members: frozenset[str], at_ns: int) -> bool:
    """Return whether one of some members owned a partition at a time."""
    for owners in readers.owners.values():
        latest = [owner.member for owner in owners if owner.at_ns <= at_ns][-1:]
        if latest and latest[0] in members:
            return True
    return False
