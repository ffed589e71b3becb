"""Rows as arrays, and as tables of schema MESSAGES or OBSERVATIONS."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from chaoskit.model.message import DIRECTIONS, PAYLOADS
from chaoskit.model.observations.row import KINDS
from chaoskit.model.tables import MESSAGES, OBSERVATIONS
from chaoskit.testing.synthetic.randomness import Ints

SENT, RECEIVED = range(len(DIRECTIONS))
NONE = -1


@dataclass(slots=True)
class RowArrays:
    """Messages of one partition; NONE represents null."""

    op: Ints
    direction: Ints
    key: Ints
    value: Ints
    position: Ints
    intended_ns: Ints
    sent_ns: Ints
    received_ns: Ints
    payload: Ints

    @classmethod
    def blank(cls, size: int, direction: int) -> RowArrays:
        """Return rows of one direction without further data."""
        none, zeros = np.full(size, NONE), np.zeros(size, np.int8)
        key = np.full(size, NONE, np.int32)
        return cls(none, np.full(size, direction, np.int8), key, none, none, none, none, none, zeros)

    @classmethod
    def joined(cls, parts: list[RowArrays]) -> RowArrays:
        """Concatenate parts."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))

    def by_op(self) -> RowArrays:
        """Return the rows in order of operation; the sort is stable."""
        return self.take(np.argsort(self.op, kind="stable"))

    def take(self, rows: Ints) -> RowArrays:
        """Return a subset of the rows."""
        return RowArrays(*(getattr(self, name)[rows] for name in _COLUMNS))

    def slice(self, first: int, last: int) -> RowArrays:
        """Return consecutive rows."""
        return RowArrays(*(getattr(self, name)[first:last] for name in _COLUMNS))


_COLUMNS = [column.name for column in fields(RowArrays)]


@dataclass(slots=True)
class Observed:
    """Observations of one partition; NONE represents null. `kind`: index into KINDS."""

    op: Ints
    kind: Ints
    value: Ints
    position: Ints


def words(indices: np.ndarray, known: tuple[str, ...] | list[str] | pa.Array, missing: bool = False) -> pa.Array:
    """Return a dictionary column; if `missing`, negative indices are null."""
    values = known if isinstance(known, pa.Array) else pa.array(known, pa.string())
    mask = indices < 0 if missing else None
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32), mask=mask), values)


def numbers(column: Ints, kind: pa.DataType = pa.int64()) -> pa.Array:  # noqa: B008  # types are constants
    """Return an integer column; NONE is null."""
    return pa.array(column, kind, mask=column == NONE)


def message_table(rows: RowArrays, place: tuple[str, int]) -> pa.Table:
    """Return rows of a partition as a table of schema MESSAGES."""
    size = rows.op.size
    zeros = np.zeros(size, np.int32)
    columns = [
        pa.array(rows.op),
        words(rows.direction, DIRECTIONS),
        words(zeros, [place[0]]),
        pa.array(np.full(size, place[1], np.int32)),
        _keys(rows.key),
        pa.array(rows.value),
        numbers(rows.position),
        numbers(rows.intended_ns),
        numbers(rows.sent_ns),
        numbers(rows.received_ns),
        pa.nulls(size, pa.int32()),
        words(rows.payload, PAYLOADS),
    ]
    return pa.table(columns, schema=MESSAGES)


def observation_table(rows: Observed, place: tuple[str, int], name: str | None) -> pa.Table:
    """Return observations of a partition, of one group or none, as a table of schema OBSERVATIONS."""
    order = np.argsort(rows.op, kind="stable")
    size = order.size
    zeros = np.zeros(size, np.int32)
    columns = [
        pa.array(rows.op[order]),
        words(rows.kind[order], KINDS),
        words(zeros, [place[0]]),
        pa.array(np.full(size, place[1], np.int32)),
        words(zeros if name is not None else zeros + NONE, [name or ""], missing=True),
        numbers(rows.value[order]),
        numbers(rows.position[order]),
    ]
    return pa.table(columns, schema=OBSERVATIONS)


def _keys(key: Ints) -> pa.Array:
    if not key.size or key.min() == key.max() == NONE:
        return words(key, [], missing=True)
    distinct, index = np.unique(key, return_inverse=True)
    texts = [f"key-{number}" for number in distinct.tolist()]
    return words(np.where(key == NONE, NONE, index), texts, missing=True)
