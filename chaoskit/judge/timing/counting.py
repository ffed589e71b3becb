"""What a partition is measured by: its operations as columns, its sends, who reads it, and its waits as rows.

`chaoskit.judge.timing.measuring` makes counts and waits of it, in process and in Spark tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Flags, Ints
from chaoskit.base.waits import Wait, Waits, first_of_each, waits
from chaoskit.contract.workloads.datamodel import DataModel
from chaoskit.judge.timing.timing import Load, Timing
from chaoskit.model.observations import group, subscription
from chaoskit.model.observations.feed import SHARED
from chaoskit.model.operation import AUDITOR, SENDING
from chaoskit.model.outcome import OUTCOMES

WAITS = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("of", pa.string(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("begin_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("answered", pa.bool_(), nullable=False),
        pa.field("reader", pa.string()),
    ]
)
"""Waits of a partition, by what they are of. The longest: of the `load`; of the `fault` or `window` with this number
(of a window, what is inside of it). From an instant: `healed` or `undone`, of the fault with this number. `long`: each
one that lasted UNAVAILABLE_MIN_NS. No waits: when `sends` were due first and last, and the first and the last of the
`acks`.

Silences of a `reader` (`chaoskit.judge.timing.silence`): `unheard`, the longest of the load; `unheard-fault`, that of a
fault; `unheard-long`, each one that lasted UNAVAILABLE_MIN_NS; `heard`, from the healing of a fault."""

UNAVAILABLE_MIN_NS = 500_000_000
"""Shorter waits are not listed one by one."""


@dataclass(frozen=True, slots=True)
class OperationColumns:
    """Columns of operations, at least those that the rows of some partitions refer to, sorted by `op`.

    `end_ns` is -1 if one never completed. `client` numbers the clients; all incarnations of one have its number.
    `whole` is the index in OUTCOMES of one that is a whole transaction, with messages of its own; else -1. `names` has
    the clients' names, by number.
    """

    op: Ints
    start_ns: Ints
    end_ns: Ints
    acked: Flags
    sends: Flags
    audits: Flags
    client: Ints
    whole: npt.NDArray[np.int8]
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: pa.Table, numbers: dict[str, int] | None = None) -> OperationColumns:
        """Return the columns of a table of operations; `numbers` has those of known clients, and new ones are added."""
        numbers = {} if numbers is None else numbers
        client = _clients(table["client"], numbers)
        audits = client == numbers.get(AUDITOR, -1)
        outcome = pc.index_in(table["outcome"], pa.array(OUTCOMES)).fill_null(-1).to_numpy()
        return cls(
            table["op"].to_numpy(),
            table["start_ns"].to_numpy(),
            integers(table["end_ns"], -1),
            is_word(table["outcome"], "ok"),
            np.logical_or.reduce([is_word(table["f"], f) for f in SENDING]) & ~audits,
            audits,
            client,
            np.where(is_word(table["f"], "txn"), outcome, -1).astype(np.int8),
            tuple(numbers),
        )

    @classmethod
    def joined(cls, tables: Iterable[pa.Table], size: int) -> OperationColumns:
        """Return the columns of several tables with `size` rows in all, of which one at a time is in memory."""
        kinds: tuple[Any, ...] = (np.int64, np.int64, np.int64, np.bool_, np.bool_, np.bool_, np.int32, np.int8)
        columns = tuple(np.zeros(size, kind) for kind in kinds)
        numbers: dict[str, int] = {}
        first = 0
        for table in tables:
            part = cls.of(table, numbers)
            for column, field in zip(columns, fields(cls), strict=False):
                column[first : first + table.num_rows] = getattr(part, field.name)
            first += table.num_rows
        op, start_ns, end_ns, acked, sends, audits, client, whole = columns
        return cls(op, start_ns, end_ns, acked, sends, audits, client, whole, tuple(numbers))

    def rows(self, op: Ints) -> Ints:
        """Return the rows of some operations."""
        whole = self.op.size and self.op[-1] - self.op[0] == self.op.size - 1
        rows: Ints = op - self.op[0] if whole else np.searchsorted(self.op, op)
        return rows


@dataclass(frozen=True, slots=True)
class CountedSends:
    """The sends of the load to one partition.

    Attributes:
        value: what was sent.
        due_ns, start_ns: when it was due, and when it was made.
        done_ns: when it was acknowledged or given up. If nothing is known, it was given up at the end of the load, or
            at once if the partition may have ended before.
        acked: whether it was acknowledged.
        client: the number of its client.
        until_ns: when the last one that was not acknowledged was given up.
    """

    value: Ints
    due_ns: Ints
    start_ns: Ints
    done_ns: Ints
    acked: Flags
    client: Ints
    until_ns: int

    @classmethod
    def of(cls, messages: pa.Table, operations: OperationColumns, timing: Timing, model: DataModel) -> CountedSends:
        """Return the sends among the messages of a partition."""
        load = timing.load
        chosen = np.flatnonzero(is_word(messages["direction"], "sent"))
        row = operations.rows(messages["op"].to_numpy()[chosen])
        counted = operations.sends[row] & (operations.start_ns[row] >= load.begin_ns)
        chosen, row = chosen[counted], row[counted]
        start_ns, end_ns, acked = operations.start_ns[row], operations.end_ns[row], operations.acked[row]
        due_ns = integers(messages["intended_ns"], -1)[chosen]
        due_ns = np.where(due_ns < 0, start_ns, due_ns)
        given_up_ns = np.maximum(due_ns, load.end_ns) if model.lasts else due_ns
        done_ns = np.maximum(np.where(end_ns < 0, given_up_ns, end_ns), due_ns)
        value, until_ns = messages["value"].to_numpy()[chosen], int(done_ns[~acked].max(initial=0))
        return cls(value, due_ns, start_ns, done_ns, acked, operations.client[row], until_ns)

    def waits(self, timing: Timing, model: DataModel) -> Waits:
        """Return when sends to this partition waited in vain."""
        due_ns, done_ns, until_ns = self.due_ns, self.done_ns, self.until_ns
        load = timing.load
        if load.stuck_ns is not None and due_ns.size and model.lasts:
            until_ns = max(until_ns, load.end_ns)
            due_ns, done_ns = np.append(due_ns, load.stuck_ns), np.append(done_ns, load.end_ns)
        return waits(due_ns, done_ns, self.done_ns[self.acked], until_ns, load.end_ns)

    def made(self, load: Load, *, started: bool = False) -> Ints:
        """Return how many messages due in each bin of the load were sent, however often; empty if none has to be.

        If `started`, return how many were first sent in it.
        """
        if not load.every_ns:
            return np.zeros(0, np.int64)
        times_ns = self.start_ns if started else self.due_ns
        return np.bincount(load.bins(times_ns[first_of_each(self.value, self.start_ns)])).astype(np.int64)


def received_rows(messages: pa.Table, operations: OperationColumns) -> Ints:
    """Return the rows of the messages that clients other than the auditor received."""
    rows = np.flatnonzero(is_word(messages["direction"], "received"))
    return rows[~operations.audits[operations.rows(messages["op"].to_numpy()[rows])]]


def delivered_rows(
    tables: tuple[pa.Table, pa.Table], operations: OperationColumns, rows: Ints, load_start_ns: int, model: DataModel
) -> tuple[Ints, Ints]:
    """Return those of some received rows that are deliveries, each message of the load, the first time a reader had it;
    and the reader's number, -1 for one that is no group.

    Members of one group, and consumers of one subscription or of a queue, are one reader; otherwise each client is,
    across all its incarnations, as is each subscriber of a topic that keeps nothing. What a reader has again, after a
    seek or because it was redelivered, is no delivery.
    """
    messages, observations = tables
    due_ns, received_ns = integers(messages["intended_ns"], -1)[rows], integers(messages["received_ns"], -1)[rows]
    known = is_word(messages["payload"], "ok")[rows] & (due_ns >= max(load_start_ns, 0)) & (received_ns >= 0)
    rows, received_ns = rows[known], received_ns[known]
    value = messages["value"].to_numpy()[rows]
    readers, _ = grouped(observations, operations, model)
    reader = readers[operations.client[operations.rows(messages["op"].to_numpy()[rows])]]
    first = np.zeros(rows.size, np.bool_)
    for reader_number in np.unique(reader):
        own = np.flatnonzero(reader == reader_number)
        first[own[first_of_each(value[own], received_ns[own])]] = True
    return rows[first], np.where(reader[first] < readers.size, -1, reader[first])


def grouped(observations: pa.Table, operations: OperationColumns, model: DataModel) -> tuple[Ints, list[str]]:
    """Return the number of the reader that each client belongs to, its own or that of its group, and the names of
    groups, whose numbers follow those of the clients. Of a topic that keeps nothing each client is a reader, unless it
    shares its subscription."""
    readers = np.arange(int(operations.client.max(initial=-1)) + 1)
    kinds = (group.ASSIGNED, subscription.SUBSCRIBED, group.COMMITTED) if model.keeps else (SHARED,)
    shared = np.flatnonzero(np.logical_or.reduce([is_word(observations["kind"], kind) for kind in kinds]))
    names = (
        observations["name"].take(pa.array(shared)).cast(pa.string()).fill_null("").combine_chunks().dictionary_encode()
    )
    client = operations.client[operations.rows(observations["op"].to_numpy()[shared])]
    readers[client] = readers.size + names.indices.to_numpy()
    return readers, names.dictionary.to_pylist()


def is_word(column: pa.ChunkedArray, word: str) -> Flags:
    """Return for each entry of a column whether it equals a word; false for null."""
    if pa.types.is_dictionary(column.type):
        parts = [np.zeros(0, np.bool_)]
        for chunk in column.chunks:
            known = np.array([*(row == word for row in chunk.dictionary.to_pylist()), False], np.bool_)
            parts.append(known[chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
        return np.concatenate(parts)
    flags: Flags = pc.equal(column, word).fill_null(False).to_numpy()
    return flags


def integers(column: pa.ChunkedArray, missing: int) -> Ints:
    """Return a column of integers, with a number in place of null."""
    numbers: Ints = column.fill_null(missing).to_numpy() if column.null_count else column.to_numpy()
    return numbers


def segments(timing: Timing, instants_ns: Ints) -> Ints:
    """Return the segment number of each instant: the number of edges that are not after it."""
    return np.searchsorted(timing.edges, instants_ns, side="right")


def waits_rows(
    partition_waits: Waits,
    labelled_waits: Iterable[tuple[str, int, Wait]],
    due: tuple[int, int] | None,
    acks: tuple[int, int] | None,
) -> list[dict[str, Any]]:
    """Return rows of WAITS of a partition, without its name.

    Args:
        partition_waits: all its waits.
        labelled_waits: those of the load, of each fault and of each window.
        due: when sends were due first and last.
        acks: the first and the last acknowledgement.
    """
    rows = [
        *labelled_waits,
        *(("long", number, wait) for number, wait in enumerate(partition_waits.lasting(UNAVAILABLE_MIN_NS))),
    ]
    rows += [("sends", 0, Wait(*due, answered=False))] if due else []
    rows += [("acks", 0, Wait(*acks, answered=True))] if acks else []
    return [
        {"of": of, "number": number, "begin_ns": wait.begin_ns, "end_ns": wait.end_ns, "answered": wait.answered}
        for of, number, wait in rows
    ]


def waits_of(partition_waits: Waits, timing: Timing) -> Iterator[tuple[str, int, Wait]]:
    """Yield the waits of the load, of each fault and of each window."""
    load = timing.load
    if (longest := partition_waits.longest(load.begin_ns, load.end_ns)) is not None:
        yield "load", 0, longest
    for number, fault in enumerate(timing.faults):
        until_ns = load.end_ns if fault.healed_ns is None else fault.healed_ns
        if (longest := partition_waits.longest(fault.start_ns, until_ns)) is not None:
            yield "fault", number, longest
        for of, instant_ns in (("healed", fault.healed_ns), ("undone", fault.heal_ns)):
            if instant_ns is None or instant_ns >= load.end_ns:
                continue
            if (wait := partition_waits.after(instant_ns, timing.soon_ns(instant_ns))) is not None:
                yield of, number, wait
    for number, window in enumerate(timing.windows):
        if (longest := partition_waits.longest_within(*window)) is not None:
            yield "window", number, longest


def _clients(column: pa.ChunkedArray, numbers: dict[str, int]) -> Ints:
    """Return the number of each entry's client; those that are new are added to the numbers."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    parts = [np.zeros(0, np.int32)]
    for chunk in encoded.chunks:
        names = [name.partition("#")[0] for name in chunk.dictionary.to_pylist()]
        known = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
        parts.append(known[chunk.indices.to_numpy()])
    return np.concatenate(parts)
