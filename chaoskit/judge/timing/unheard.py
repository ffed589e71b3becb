"""The silences of the readers of one partition, as rows of WAITS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from chaoskit.base.latency import Ints
from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.workloads.datamodel import DataModel
from chaoskit.judge.timing.counting import (
    UNAVAILABLE_MIN_NS,
    CountedSends,
    OperationColumns,
    grouped,
    integers,
    is_word,
)
from chaoskit.judge.timing.silence import silences
from chaoskit.judge.timing.timing import Timing
from chaoskit.model.observations.queue import QueueSettings

_BEGINS = ("assigned", "subscribed")
"""Kinds of observations with which a client begins to read."""


class _Reader(NamedTuple):
    """A reader of a partition: its name, when it received messages, and since when it reads."""

    name: str
    received_ns: Ints
    since_ns: int


def silent_rows(  # noqa: PLR0917 - all that is known of a partition
    tables: tuple[pa.Table, pa.Table],
    operations: OperationColumns,
    rows: Ints,
    sends: CountedSends,
    timing: Timing,
    model: DataModel,
) -> Iterator[dict[str, Any]]:
    """Yield rows of WAITS about silences, without topic and partition.

    Args:
        tables: the messages and the observations of the partition.
        operations: at least those that they refer to.
        rows: the received rows, those of the final read not among them.
        sends: the sends of the load.
        timing: when they were due, and when faults held.
        model: the data model of the topic.
    """
    start_ns, done_ns = (column[sends.acked] for column in (sends.start_ns, sends.done_ns))
    done_ns = done_ns + delay_ns(tables[1])
    end_ns = timing.load.end_ns
    for reader in _readers(tables, operations, rows, model):
        silent = silences(reader.received_ns, max(reader.since_ns, timing.load.begin_ns), start_ns, done_ns, end_ns)
        waits = [("unheard", 0, silent.longest(timing.load.begin_ns, end_ns))]
        waits += [("unheard-long", number, wait) for number, wait in enumerate(silent.lasting(UNAVAILABLE_MIN_NS))]
        for number, fault in enumerate(timing.faults):
            until_ns = end_ns if fault.healed_ns is None else fault.healed_ns
            waits.append(("unheard-fault", number, silent.longest(fault.start_ns, until_ns)))
            if fault.healed_ns is not None and fault.healed_ns < end_ns:
                waits.append(("heard", number, silent.after(fault.healed_ns, timing.soon_ns(fault.healed_ns))))
        for of, number, wait in waits:
            if wait is not None:
                times = {"begin_ns": wait.begin_ns, "end_ns": wait.end_ns, "answered": wait.answered}
                yield {"of": of, "number": number, "reader": reader.name, **times}


def delay_ns(observations: pa.Table) -> int:
    """Return for how long a system keeps each message back, as declared; 0 if it does not."""
    return QueueSettings.read(observations).numbers.get("delay", 0) * MILLISECOND


def _readers(
    tables: tuple[pa.Table, pa.Table], operations: OperationColumns, rows: Ints, model: DataModel
) -> Iterator[_Reader]:
    """Yield the readers: those that received anything, and those that only began to read."""
    messages, observations = tables
    received_ns = integers(messages["received_ns"], -1)[rows]
    known = received_ns >= 0
    rows, received_ns = rows[known], received_ns[known]
    numbers, groups = grouped(observations, operations, model)
    reader = numbers[operations.client[operations.rows(messages["op"].to_numpy()[rows])]]
    begun, begun_ns = _begun(observations, operations)
    begun = numbers[begun]
    for number in np.unique(np.concatenate([reader, begun])).tolist():
        own_ns, own_begun_ns = received_ns[reader == number], begun_ns[begun == number]
        since_ns = min(own_ns.min(initial=np.iinfo(np.int64).max), own_begun_ns.min(initial=np.iinfo(np.int64).max))
        name = operations.names[number] if number < numbers.size else f"group {groups[number - numbers.size]}"
        yield _Reader(name, own_ns, int(since_ns))


def _begun(observations: pa.Table, operations: OperationColumns) -> tuple[Ints, Ints]:
    """Return the clients that began to read, and when they had; those of the final read are not among them."""
    chosen = np.flatnonzero(np.logical_or.reduce([is_word(observations["kind"], kind) for kind in _BEGINS]))
    row = operations.rows(observations["op"].to_numpy()[chosen])
    row = row[~operations.audits[row]]
    ended_ns = operations.end_ns[row]
    return operations.client[row], np.where(ended_ns < 0, operations.start_ns[row], ended_ns)
