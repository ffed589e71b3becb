"""From Arrow columns to numpy arrays, and the few array idioms that every check is made of.

Arrow columns may come in chunks, each with a dictionary of its own (one for each row group or
file). Everything here gives the same result however the rows were split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chaoskit.base.errors import BadInput

Ints = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]

NONE = -1
"""Stands for null among positions, times and row numbers, none of which is ever negative."""


def integers(column: pa.Array | pa.ChunkedArray) -> Ints:
    """Return an integer column as one array, `NONE` where it is null."""
    if column.null_count:
        column = pc.fill_null(column, NONE)
    array: Ints = column.to_numpy()
    return array


def codes(column: pa.ChunkedArray, words: Sequence[str]) -> Ints:
    """Return for each entry the index of its word.

    Raises:
        BadInput: an entry is none of these words.
    """
    known = _indices(column, words)
    if known.size and known.min() < 0:
        strange = sorted({str(word) for word in column.unique().to_pylist()} - set(words))
        raise BadInput(f"the history says {strange[0]!r} where it should say one of {', '.join(words)}")
    return known


def is_one_of(column: pa.ChunkedArray, words: Sequence[str]) -> Flags:
    """Return for each entry whether it is one of these words."""
    return _indices(column, words) >= 0


def _indices(column: pa.ChunkedArray, words: Sequence[str]) -> Ints:
    parts = [np.empty(0, np.int8)]
    for chunk in _encoded(column).chunks:
        # A null entry has index NONE, which picks the last element: no word.
        dictionary = [*chunk.dictionary.to_pylist(), None]
        lookup = np.array([words.index(word) if word in words else NONE for word in dictionary], np.int8)
        parts.append(lookup[integers(chunk.indices)])
    return np.concatenate(parts)


def group_numbers(column: pa.ChunkedArray) -> Ints:
    """Number the distinct words of a column from 1 on, and null with 0."""
    chunks = _encoded(column).unify_dictionaries().chunks
    return np.concatenate([np.empty(0, np.int32), *(integers(chunk.indices) + 1 for chunk in chunks)])


def words_of(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Return for each entry of a column without nulls the index of its word, and the words."""
    encoded = _encoded(column).unify_dictionaries().combine_chunks()
    return integers(encoded.indices), encoded.dictionary.to_pylist()


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        if not any(chunk.dictionary.null_count for chunk in column.chunks):
            return column
        column = column.cast(column.type.value_type)  # Arrow cannot unify dictionaries that hold a null
    return column.dictionary_encode()


def is_sorted(numbers: Ints) -> bool:
    """Return whether the numbers ascend; equal ones may follow each other."""
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def stable_order(numbers: Ints) -> Ints:
    """Return the row numbers in ascending order of `numbers`, rows of one number in their own order.

    Radix sort in digits of 16 bits, the widest for which numpy's stable sort is linear.
    """
    if is_sorted(numbers):
        return np.arange(numbers.size)
    shifted = numbers.astype(np.int64) - int(numbers.min())
    order = np.argsort(shifted.astype(np.uint16), kind="stable")
    for shift in range(16, int(shifted.max()).bit_length(), 16):
        digit = (shifted >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def marked(size: int, indices: Ints) -> Flags:
    """Return `size` flags, set at the indices."""
    flags = np.zeros(size, np.bool_)
    flags[indices] = True
    return flags


def first_rows(size: int, indices: Ints) -> Ints:
    """Return for each of `size` indices the first row that has it, or `NONE`."""
    rows: Ints = np.full(size, NONE, np.int32 if indices.size < 2**31 else np.int64)
    # Of several assignments to one element numpy keeps the last: hence backwards.
    rows[indices[::-1]] = np.arange(indices.size - 1, -1, -1)
    return rows


def changes(*keys: Ints) -> Flags:
    """Return for each row whether any key differs from the row before; true for the first row."""
    changed = np.ones(keys[0].size, np.bool_)
    changed[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return changed


def distinct(*keys: Ints) -> Ints:
    """Return the first row of each distinct combination of keys, in the order of the keys."""
    order = np.lexsort(keys[::-1])
    chosen: Ints = order[changes(*(key[order] for key in keys))]
    return chosen


def run_starts(*keys: Ints) -> Ints:
    """Return for each row the first row of its run of equal keys."""
    return np.maximum.accumulate(np.where(changes(*keys), np.arange(keys[0].size), 0))


def running_maximum(group: Ints, number: Ints, size: int) -> tuple[Ints, Ints]:
    """Return each row's rank, and the highest rank up to it; ranks compare by group, then number.

    Args:
        group: ascending, so that each group starts below its own rows and above all earlier groups.
        number: from 0 to below `size`.
        size: more than any number.
    """
    rank = np.cumsum(changes(group)) * size + number
    return rank, np.maximum.accumulate(rank)
