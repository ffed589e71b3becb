"""Payloads found in other bytes: in C as in Python, and only whole ones of the run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.model import payload
from chaoskit.model.occurrences import search, search_slowly

RUN = 77
SIZE = 64


def built(value: int, run: int = RUN) -> bytes:
    return payload.build(run, value, 1, 2, b"f" * (SIZE - payload.SIZE_MIN))


pieces = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.integers(-1, 2**62).map(built),
        st.integers(0, 5).map(lambda value: built(value)[: SIZE - 1]),
        st.integers(0, 5).map(lambda value: built(value, run=RUN + 1)),
        st.integers(0, 5).map(lambda value: built(value)[:-1] + b"?"),
    ),
    max_size=12,
).map(b"".join)


@given(pieces, st.integers(0, 300), st.integers(0, 300))
def test_in_c_and_in_python_the_same_is_found(content: bytes, start: int, length: int) -> None:
    end = min(start + length, len(content))

    assert search(content, start, end, RUN, SIZE) == search_slowly(content, start, end, RUN, SIZE)


@pytest.mark.parametrize("find", [search, search_slowly])
def test_payloads_that_overlap_a_range_are_found(find: Callable[[bytes, int, int, int, int], bytes]) -> None:
    content = b"x" + built(5) + built(6) + b"y"
    first, second = 1, 1 + SIZE

    def values(start: int, end: int) -> list[int]:
        numbers: list[int] = np.frombuffer(find(content, start, end, RUN, SIZE), np.int64).tolist()
        return numbers

    assert values(0, len(content)) == [5, 6]
    assert values(second - 1, second) == [5]
    assert values(second, second + 1) == [6]
    assert values(0, first) == []
    assert values(len(content) - 1, len(content)) == []


def test_a_payload_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="small"):
        search(b"", 0, 0, RUN, payload.SIZE_MIN - 1)
