"""Rows of messages as arrays, and as tables of schema MESSAGES."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from chaoskit.history.schema import DIRECTIONS, MESSAGES, PAYLOADS
from workloads.synthetic.randomness import Ints

SENT, RECEIVED, COMMITTED, ASSIGNED, CONFIRMED, ENDED = range(6)
NONE = -1


@dataclass(slots=True)
class Rows:
    """Rows of one partition; NONE stands for null. `group`: the key is the consumer group."""

    op: Ints
    direction: Ints
    key: Ints
    value: Ints
    position: Ints
    intended_ns: Ints
    sent_ns: Ints
    received_ns: Ints
    payload: Ints
    group: bool = False

    @classmethod
    def blank(cls, size: int, direction: int) -> Rows:
        """Return rows of one direction of which nothing else is known."""
        none, zeros = np.full(size, NONE), np.zeros(size, np.int8)
        return cls(none, np.full(size, direction, np.int8), np.full(size, NONE, np.int32), *[none] * 5, zeros)

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Return all rows, one part after the other."""
        for part in parts:
            if part.group:
                part.key = np.full(part.op.size, GROUP_KEY, np.int32)
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))

    def by_op(self) -> Rows:
        """Return the rows in order of operation, those of one operation as they are."""
        return self.take(np.argsort(self.op, kind="stable"))

    def take(self, rows: Ints) -> Rows:
        """Return some of the rows."""
        return Rows(*(getattr(self, name)[rows] for name in _COLUMNS))

    def slice(self, first: int, last: int) -> Rows:
        """Return a stretch of the rows."""
        return Rows(*(getattr(self, name)[first:last] for name in _COLUMNS))


_COLUMNS = [column.name for column in fields(Rows) if column.name != "group"]
GROUP_KEY = -2


def words(indices: Ints, known: tuple[str, ...] | list[str] | pa.Array, missing: bool = False) -> pa.Array:
    """Return a dictionary column; `missing`: negative indices are null."""
    values = known if isinstance(known, pa.Array) else pa.array(known, pa.string())
    mask = indices < 0 if missing else None
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32), mask=mask), values)


def numbers(column: Ints, kind: pa.DataType = pa.int64()) -> pa.Array:  # noqa: B008  # types are constants
    """Return an integer column; NONE is null."""
    return pa.array(column, kind, mask=column == NONE)


def message_table(rows: Rows, place: tuple[str, int], group: str) -> pa.Table:
    """Return rows of a partition as a table of schema MESSAGES."""
    size = rows.op.size
    zeros = np.zeros(size, np.int32)
    columns = [
        pa.array(rows.op),
        words(rows.direction, DIRECTIONS),
        words(zeros, [place[0]]),
        pa.array(np.full(size, place[1], np.int32)),
        _keys(rows.key, group),
        pa.array(rows.value),
        numbers(rows.position),
        numbers(rows.intended_ns),
        numbers(rows.sent_ns),
        numbers(rows.received_ns),
        pa.nulls(size, pa.int32()),
        words(rows.payload, PAYLOADS),
    ]
    return pa.table(columns, schema=MESSAGES)


def _keys(key: Ints, group: str) -> pa.Array:
    if not key.size or key.min() == key.max() == NONE:
        return words(key, [], missing=True)
    texts, index = _key_texts(key, group)
    return words(index, texts, missing=True)


def _key_texts(key: Ints, group: str) -> tuple[list[str], Ints]:
    distinct, index = np.unique(key, return_inverse=True)
    texts = [group if number == GROUP_KEY else f"key-{number}" for number in distinct.tolist()]
    return texts, np.where(key == NONE, NONE, index)
