"""Measurements of a task: counts that are merged by addition, and completion times of sends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints, buckets
from chaoskit.history.schema import AUDITOR, OUTCOMES, SENDING
from spark_analysis.units import Timing

COUNTS = pa.schema(
    [
        pa.field("series", pa.string(), nullable=False),
        pa.field("segment", pa.int64(), nullable=False),
        pa.field("bucket", pa.int64(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
    ]
)
"""Counts by series, segment of the run's time and bucket:

- `send`, `send_from_actual`, `end_to_end`: durations of the load, by HDR bucket; the segment is determined by
  when the message was due (`send_from_actual`: was sent)
- `due`, `acked`: sends of the load, by due time and by completion time
- `outcome`: all sends; the bucket is the index in OUTCOMES
- `sends`: sends of the load
- `received`: messages received, except by the auditor
"""

ENDS = pa.schema([pa.field("first_ns", pa.int64()), pa.field("last_ns", pa.int64())])
"""Completion times of acknowledged sends of the load: the first and the last of each bin."""

Flags = npt.NDArray[np.bool_]


def operations_measured(operations: pa.Table, timing: Timing) -> tuple[pa.Table, pa.Table]:
    """Return COUNTS and ENDS of some operations."""
    sends = operations.filter(pa.array(are_sends(operations)))
    start_ns = sends["start_ns"].to_numpy()
    in_load = start_ns >= timing.load_start_ns
    acked = is_word(sends["outcome"], "ok") & in_load
    ends = sends["end_ns"].fill_null(0).to_numpy()[acked]
    outcome = pc.index_in(sends["outcome"].cast(pa.string()), pa.array(OUTCOMES)).to_numpy()
    zeros = np.zeros(ends.size, np.int64)
    counts = pa.concat_tables(
        [
            _counted("outcome", np.zeros(outcome.size, np.int64), outcome.astype(np.int64)),
            _counted("sends", np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([np.count_nonzero(in_load)])),
            _counted("acked", segments(timing, ends), zeros),
            _counted("send_from_actual", segments(timing, start_ns[acked]), buckets(ends - start_ns[acked])),
        ]
    )
    return counts, binned(ends, timing)


def messages_measured(messages: pa.Table, operations: pa.Table, timing: Timing) -> pa.Table:
    """Return COUNTS of one partition.

    Args:
        messages: messages of the partition.
        operations: at least the operations that the messages refer to.
        timing: the division of the run's time.
    """
    rows = np.searchsorted(operations["op"].to_numpy(), messages["op"].to_numpy())
    return pa.concat_tables([_sent(messages, rows, operations, timing), _received(messages, rows, operations, timing)])


def _sent(messages: pa.Table, rows: Ints, operations: pa.Table, timing: Timing) -> pa.Table:
    chosen = np.flatnonzero(is_word(messages["direction"], "sent"))
    row = rows[chosen]
    start_ns = operations["start_ns"].to_numpy()
    due_ns = _integers(messages["intended_ns"], -1)[chosen]
    due_ns = np.where(due_ns < 0, start_ns[row], due_ns)
    # If an operation has several rows, the last one determines when it was due, as in chaoskit.judge.metrics.
    last = np.append(row[1:] != row[:-1], True) if row.size else np.zeros(0, np.bool_)
    row, due_ns = row[last], due_ns[last]
    load = are_sends(operations) & (start_ns >= timing.load_start_ns)
    due_ns, row = due_ns[load[row]], row[load[row]]
    acked = is_word(operations["outcome"], "ok")[row]
    took_ns = _integers(operations["end_ns"], 0)[row[acked]] - due_ns[acked]
    return pa.concat_tables(
        [
            _counted("due", segments(timing, due_ns), np.zeros(due_ns.size, np.int64)),
            _counted("send", segments(timing, due_ns[acked]), buckets(took_ns)),
        ]
    )


def _received(messages: pa.Table, rows: Ints, operations: pa.Table, timing: Timing) -> pa.Table:
    in_load = ~is_word(operations["client"], AUDITOR)
    received = is_word(messages["direction"], "received") & in_load[rows]
    due_ns, received_ns = _integers(messages["intended_ns"], -1), _integers(messages["received_ns"], -1)
    whole = received & is_word(messages["payload"], "ok") & (due_ns >= timing.load_start_ns)
    whole &= pc.is_valid(messages["intended_ns"]).to_numpy() & pc.is_valid(messages["received_ns"]).to_numpy()
    due_ns = due_ns[whole]
    total = np.array([np.count_nonzero(received)])
    return pa.concat_tables(
        [
            _counted("received", np.zeros(1, np.int64), np.zeros(1, np.int64), total),
            _counted("end_to_end", segments(timing, due_ns), buckets(received_ns[whole] - due_ns)),
        ]
    )


def binned(ends: Ints, timing: Timing) -> pa.Table:
    """Return ENDS: the first and the last time in each non-empty bin; no bin straddles an instant."""
    ends = np.sort(ends)
    piece = np.searchsorted(timing.instants, ends, side="right")
    begins = np.ones(ends.size, np.bool_)
    begins[1:] = (np.diff(ends // timing.bin_ns) != 0) | (np.diff(piece) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], ends.size) - 1 if first.size else first
    return pa.table([pa.array(ends[first]), pa.array(ends[last])], schema=ENDS)


def segments(timing: Timing, instants_ns: Ints) -> Ints:
    """Return the segment number of each instant: the number of edges that are not after it."""
    return np.searchsorted(timing.edges, instants_ns, side="right")


def is_word(column: pa.ChunkedArray, word: str) -> Flags:
    """Return for each entry of a column whether it equals a word; false for null."""
    if pa.types.is_dictionary(column.type):
        parts = [np.zeros(0, np.bool_)]
        for chunk in column.chunks:
            known = np.array([*(each == word for each in chunk.dictionary.to_pylist()), False], np.bool_)
            parts.append(known[chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
        return np.concatenate(parts)
    flags: Flags = pc.equal(column, word).fill_null(False).to_numpy()
    return flags


def are_sends(operations: pa.Table) -> Flags:
    sends: Flags = np.logical_or.reduce([is_word(operations["f"], f) for f in SENDING])
    return sends & ~is_word(operations["client"], AUDITOR)


def _integers(column: pa.ChunkedArray, missing: int) -> Ints:
    numbers: Ints = column.fill_null(missing).to_numpy() if column.null_count else column.to_numpy()
    return numbers


def _counted(series: str, segment: Ints, bucket: Ints, count: Ints | None = None) -> pa.Table:
    """Return COUNTS of one series; without `count`, each row counts as one."""
    if count is None:
        width = int(bucket.max()) + 1 if bucket.size else 1
        key = segment * width + bucket
        if key.size and int(key.max()) < 16 * key.size + 2**20:
            count = np.bincount(key)
            key = np.flatnonzero(count)
            count = count[key]
        else:
            key, count = np.unique(key, return_counts=True)
        segment, bucket = key // width, key % width
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count.size, np.int32)), pa.array([series]))
    return pa.table([names.cast(pa.string()), pa.array(segment), pa.array(bucket), pa.array(count)], schema=COUNTS)
