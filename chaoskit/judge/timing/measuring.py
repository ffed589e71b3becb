"""Measurements of one partition: its counts and its waits.

The same functions run in process and in Spark tasks; `chaoskit.judge.timing.metrics` makes the figures of verdict.json
of their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints, buckets
from chaoskit.base.waits import Wait, Waits, are_in
from chaoskit.contract.workloads.datamodel import DataModel
from chaoskit.history.reading.reader import StoredPartition
from chaoskit.judge.timing.counting import (
    WAITS,
    CountedSends,
    OperationColumns,
    delivered_rows,
    is_word,
    received_rows,
    segments,
    waits_of,
    waits_rows,
)
from chaoskit.judge.timing.counts import counted, single
from chaoskit.judge.timing.timing import Timing
from chaoskit.judge.timing.unheard import delay_ns, silent_rows
from chaoskit.model.outcome import OUTCOMES

_LASTING = ("load", "fault", "window")
"""What waits are told of even if they were never answered and the partition may have been abandoned, like a ledger."""


def operations_counted(table: pa.Table) -> pa.Table:
    """Return COUNTS of some operations."""
    sends = table.filter(pa.array(OperationColumns.of(table).sends))
    outcome = pc.index_in(sends["outcome"].cast(pa.string()), pa.array(OUTCOMES)).to_numpy()
    return counted("outcome", np.zeros(outcome.size, np.int64), outcome.astype(np.int64))


def partition_measured(
    partition: StoredPartition,
    model: DataModel,
    tables: tuple[pa.Table, pa.Table],
    operations: OperationColumns,
    timing: Timing,
) -> tuple[pa.Table, pa.Table]:
    """Return COUNTS and WAITS of a partition.

    Args:
        partition: the partition.
        model: the data model of its topic.
        tables: its messages and its observations.
        operations: at least the operations that they refer to.
        timing: when the sends of the run were due.
    """
    messages, _ = tables
    sends = CountedSends.of(messages, operations, timing, model)
    rows = received_rows(messages, operations)
    first, reader = delivered_rows(tables, operations, rows, timing.load.begin_ns, model)
    sizes = single("received", rows.size), *_of_sends(messages, operations)
    late = _late(tables, first, timing)
    delivered = _delivered(messages, (first, reader), sends, timing)
    paid = _paid(sends, operations.names, timing)
    counts = pa.concat_tables([*_sent(sends, timing), *paid, *sizes, *delivered, *late])
    waits = sends.waits(timing, model)
    lasting = [wait for wait in waits_of(waits, timing) if wait[2].answered or wait[0] in _LASTING or model.lasts]
    times = [*_waits(sends, waits, lasting), *silent_rows(tables, operations, rows, sends, timing, model)]
    place = {"topic": partition.topic, "partition": partition.partition}
    return counts, pa.Table.from_pylist([{**place, **row} for row in times], WAITS)


def _of_sends(messages: pa.Table, operations: OperationColumns) -> Iterator[pa.Table]:
    """Yield COUNTS of the messages that were sent by operations which are whole transactions, and of all of sends."""
    row = operations.rows(messages["op"].to_numpy()[np.flatnonzero(is_word(messages["direction"], "sent"))])
    whole = operations.whole[row]
    outcome: Ints = whole[whole >= 0].astype(np.int64)
    yield counted("outcome", _zeros(outcome), outcome)
    yield single("stored", np.count_nonzero(operations.sends[row] | (whole >= 0)))


def _sent(sends: CountedSends, timing: Timing) -> Iterator[pa.Table]:
    load, acked = timing.load, sends.acked
    took = buckets(sends.done_ns - sends.due_ns)
    phase = timing.phases(sends.due_ns, sends.done_ns)
    done_ns = sends.done_ns[acked]
    yield counted("send", segments(timing, sends.due_ns[acked]), took[acked])
    yield counted("took", phase[acked], took[acked])
    yield counted("gave_up", phase[~acked], took[~acked])
    yield counted("send_from_actual", _zeros(done_ns), buckets(done_ns - sends.start_ns[acked]))
    yield counted("due", segments(timing, sends.due_ns), _zeros(sends.due_ns))
    yield counted("acked", segments(timing, done_ns), _zeros(done_ns))
    yield single("sends", np.count_nonzero(sends.start_ns <= load.end_ns))
    yield single("acks", np.count_nonzero(done_ns <= load.end_ns))
    for series, made in (("made", sends.made(load)), ("started", sends.made(load, started=True))):
        bins = np.flatnonzero(made)
        yield counted(series, bins, _zeros(bins), made[bins])


def _paid(sends: CountedSends, names: Sequence[str], timing: Timing) -> Iterator[pa.Table]:
    """Yield COUNTS of the sends that were due or open under faults of some producers: of those, and of the others."""
    under, hit = np.zeros((2, sends.due_ns.size), np.bool_)
    for fault in timing.faults:
        if fault.producers:
            meanwhile = (sends.due_ns <= fault.over_ns) & (sends.done_ns >= fault.start_ns)
            numbers = [number for number, name in enumerate(names) if name in fault.producers]
            under |= meanwhile
            hit |= meanwhile & np.isin(sends.client, numbers)
    for series, chosen in (("took_hit", hit), ("took_spared", under & ~hit)):
        took = buckets((sends.done_ns - sends.due_ns)[chosen & sends.acked])
        yield counted(series, _zeros(took), took)


def _delivered(
    messages: pa.Table, deliveries: tuple[Ints, Ints], sends: CountedSends, timing: Timing
) -> Iterator[pa.Table]:
    first, reader = deliveries
    due_ns, received_ns = (messages[name].take(pa.array(first)).to_numpy() for name in ("intended_ns", "received_ns"))
    travelled = buckets(received_ns - due_ns)
    yield counted("end_to_end", timing.phases(due_ns, received_ns), travelled)
    yield counted("travelled", segments(timing, due_ns), travelled)
    acked, value = sends.value[sends.acked], messages["value"].to_numpy()[first]
    groups = np.unique(reader) if reader.size else np.zeros(1, np.int64)
    seen = [are_in(acked, np.sort(value[reader == group])) for group in groups]
    yield single("undelivered", sum(np.count_nonzero(~flags) for flags in seen))


def _late(tables: tuple[pa.Table, pa.Table], first: Ints, timing: Timing) -> Iterator[pa.Table]:
    """Yield COUNTS of how long after its delay each first delivery of a delayed message was."""
    messages, observations = tables
    if kept_back_ns := delay_ns(observations):
        sent_ns, received_ns = (messages[name].take(pa.array(first)).to_numpy() for name in ("sent_ns", "received_ns"))
        late_ns = np.maximum(received_ns - sent_ns - kept_back_ns, 0)
        yield counted("late", timing.phases(sent_ns, received_ns), buckets(late_ns))


def _waits(sends: CountedSends, waits: Waits, labelled_waits: list[tuple[str, int, Wait]]) -> list[dict[str, Any]]:
    due = acks = None
    if sends.due_ns.size:
        due = int(sends.due_ns.min()), int(sends.due_ns.max())
    if sends.acked.any():
        done_ns = sends.done_ns[sends.acked]
        acks = int(done_ns.min()), int(done_ns.max())
    return waits_rows(waits, labelled_waits, due, acks)


def _zeros(like: Ints) -> Ints:
    return np.zeros(like.size, np.int64)
