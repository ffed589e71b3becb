"""Ids keep the order of the numbers, and lead back to them; words get one number wherever they stand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.columns import NONE, group_numbers, is_one_of
from checkers.arrays.columns import stable_order
from checkers.arrays.numbering import Numbering

DENSE = st.builds(lambda block, number: block << 40 | number, st.integers(0, 3), st.integers(0, 20))
SPARSE = st.integers(0, 2**62)


@given(st.lists(st.lists(st.one_of(DENSE, SPARSE, st.just(NONE)), max_size=20), max_size=3))
def test_ids_are_small_ordered_and_reversible(parts: list[list[int]]) -> None:
    arrays = [np.array(part, np.int64) for part in parts]
    numbering = Numbering(*arrays)
    numbers = np.unique(np.concatenate([np.empty(0, np.int64), *arrays]))
    known = numbers[numbers != NONE]

    ids = numbering.ids(known)

    assert np.all(np.diff(ids) > 0)
    assert np.array_equal(numbering.numbers(ids), known)
    assert np.all((ids >= 0) & (ids < numbering.size))
    assert np.array_equal(numbering.ids(numbers)[numbers == NONE], numbers[numbers == NONE])


def test_dense_numbers_need_no_sort() -> None:
    numbering = Numbering(np.array([7, 5, 8]), np.array([(1 << 40) + 3]))

    assert numbering.ids(np.array([5, 7, 8, (1 << 40) + 3])).tolist() == [0, 2, 3, 4]


def test_sparse_numbers_are_ranked() -> None:
    numbering = Numbering(np.array([0, 1000, 1 << 50]))

    assert numbering.size == 3
    assert numbering.ids(np.array([1 << 50, 0])).tolist() == [2, 0]


@given(st.lists(st.integers(-5, 2**50)))
def test_stable_order_is_that_of_a_stable_sort(numbers: list[int]) -> None:
    array = np.array(numbers, np.int64)

    assert stable_order(array).tolist() == sorted(range(len(numbers)), key=lambda row: numbers[row])


def test_stable_order_keeps_rows_of_one_number_in_order() -> None:
    assert stable_order(np.array([1 << 20, 0, 1 << 20, 0])).tolist() == [1, 3, 0, 2]


def test_words_are_known_across_chunks_with_different_dictionaries() -> None:
    chunks = [pa.array(words, pa.string()).dictionary_encode() for words in (["a", "b"], ["b", None], ["c", "a"])]
    column = pa.chunked_array([chunks[0], chunks[1].slice(1), chunks[2]])

    assert column.to_pylist() == ["a", "b", None, "c", "a"]
    first, second, null, third, again = group_numbers(column).tolist()
    assert null == 0
    assert first == again
    assert len({null, first, second, third}) == 4
    assert is_one_of(column, ["a", "c"]).tolist() == [True, False, False, True, True]


def test_null_may_be_a_word_of_a_dictionary() -> None:
    chunks = [pa.DictionaryArray.from_arrays(pa.array([0, 1]), words) for words in (pa.array([None, "a"]), ["a", "b"])]
    column = pa.chunked_array([chunk.cast(pa.dictionary(pa.int64(), pa.string())) for chunk in chunks])

    null, first, same, other = group_numbers(column).tolist()
    assert (null, first) == (0, same)
    assert other not in (0, first)
    assert is_one_of(column, ["a"]).tolist() == [False, True, True, False]
