"""Transactions that nobody knows to have committed, but did: one of their messages was read.

A transaction is all or nothing, so one visible message proves that the others count, too. In a run of chaoskit's the
final read, which reads what is committed, decides; in a history without one, any consumer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.history.reading.reader import History, group_sizes, read_messages, read_operations
from chaoskit.model.operation import AUDITOR

_ENDING = ("end", "txn")
"""Operations (`f`) that end a transaction; `txn` is a whole one."""


def proved(history: History) -> tuple[int, ...]:
    """Return the transactions with an unknown outcome of which a message was read.

    Reads operations group by group, and the messages of all partitions only if there are such transactions.
    """
    unknown = pa.chunked_array(
        [group.filter(_unknown(group))["txn"].unique() for group in _groups(history)], pa.int64()
    )
    if not len(unknown):
        return ()
    parts = [group.filter(pc.is_in(group["txn"], value_set=unknown.combine_chunks())) for group in _groups(history)]
    members = pa.concat_tables(parts).unify_dictionaries()
    audits = pa.concat_tables(group.filter(_audits(group)).select(["op"]) for group in _groups(history))["op"]
    transactions: set[int] = set()
    for partition in history.partitions:
        messages = read_messages(partition)
        sent = pc.equal(messages["direction"].cast(pa.string()), "sent")
        read = messages.filter(pc.and_(pc.invert(sent), pc.equal(messages["payload"].cast(pa.string()), "ok")))
        if len(audits):
            read = _of(read, "op", audits)
        ours = _of(messages.filter(sent), "op", members["op"])
        transactions.update(_of(members, "op", _of(ours, "value", read["value"])["op"])["txn"].to_pylist())
    return tuple(sorted(transactions & set(unknown.to_pylist())))


def _groups(history: History) -> Iterator[pa.Table]:
    path = history.folder / "operations.parquet"
    for group in range(len(group_sizes(path))):
        yield read_operations(path, [group], ["op", "client", "f", "outcome", "txn"])


def _audits(operations: pa.Table) -> pa.ChunkedArray:
    return pc.equal(operations["client"].cast(pa.string()), AUDITOR)


def _of(table: pa.Table, column: str, values: pa.ChunkedArray) -> pa.Table:
    return table.filter(pc.is_in(table[column], value_set=values.combine_chunks()))


def committed(operations: pa.Table, transactions: tuple[int, ...]) -> pa.Table:
    """Return operations of schema `OPERATIONS` in which these transactions have ended with `ok`."""
    if not transactions:
        return operations
    ended = pc.and_(_unknown(operations), pc.is_in(operations["txn"], value_set=pa.array(transactions, pa.int64())))
    outcome = pc.if_else(pc.fill_null(ended, False), "ok", operations["outcome"].cast(pa.string()))
    index = operations.schema.get_field_index("outcome")
    return operations.set_column(index, operations.field("outcome"), outcome.dictionary_encode())


def _unknown(operations: pa.Table) -> pa.Array:
    ending = pc.is_in(operations["f"].cast(pa.string()), value_set=pa.array(_ENDING))
    unknown = pc.equal(operations["outcome"].cast(pa.string()), "info")
    return pc.and_(pc.and_(ending, unknown), pc.is_valid(operations["txn"]))
