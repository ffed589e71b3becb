"""Conversion of Arrow columns to numpy arrays.

Arrow columns may come in chunks with separate dictionaries (one per row group or file). All functions
give the same result regardless of how the rows were split.
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
"""Represents null in positions, times and row numbers, none of which is ever negative."""


def integers(column: pa.Array | pa.ChunkedArray) -> Ints:
    """Return an integer column as one array, with `NONE` for null."""
    if column.null_count == len(column):
        return np.full(len(column), NONE, column.type.to_pandas_dtype())
    if column.null_count:
        column = pc.fill_null(column, NONE)
    array: Ints = column.to_numpy()
    return array


def codes(column: pa.ChunkedArray, words: Sequence[str]) -> Ints:
    """Return the index of each entry in `words`.

    Raises:
        BadInput: an entry is not in `words`.
    """
    known = places_in(words, column)
    if known.size and known.min() < 0:
        strange = sorted({str(word) for word in column.unique().to_pylist()} - set(words))
        raise BadInput(f"the history has the value {strange[0]!r}; expected one of {', '.join(words)}")
    return known


def is_one_of(column: pa.ChunkedArray, words: Sequence[str]) -> Flags:
    """Return for each entry whether it is one of these words."""
    return places_in(words, column) >= 0


def places_in(words: Sequence[str], column: pa.ChunkedArray) -> Ints:
    """Return the index of each entry in `words`, `NONE` if it is not one of them."""
    parts = [np.empty(0, np.int8)]
    for chunk in _encoded(column).chunks:
        # A null entry has index NONE, which selects the last element: no word.
        dictionary = [*chunk.dictionary.to_pylist(), None]
        lookup = np.array([words.index(word) if word in words else NONE for word in dictionary], np.int8)
        # Most words are in few columns: then there is nothing to look up.
        constant = (len(chunk.dictionary) == 1 and not chunk.null_count) or not (lookup >= 0).any()
        parts.append(np.full(len(chunk), lookup[0]) if constant else lookup[integers(chunk.indices)])
    return np.concatenate(parts)


def group_numbers(column: pa.ChunkedArray) -> Ints:
    """Number the distinct words of a column from 1; null is 0."""
    chunks = _encoded(column).unify_dictionaries().chunks
    return np.concatenate([np.empty(0, np.int32), *(integers(chunk.indices) + 1 for chunk in chunks)])


def words_of(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Return the index of the word of each entry of a column without nulls, and the words."""
    encoded = _encoded(column).unify_dictionaries().combine_chunks()
    return integers(encoded.indices), encoded.dictionary.to_pylist()


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        if not any(chunk.dictionary.null_count for chunk in column.chunks):
            return column
        column = column.cast(column.type.value_type)  # Arrow cannot unify dictionaries with a null
    return column.dictionary_encode()
