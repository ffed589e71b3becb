"""Sets of integers that are mostly consecutive."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.history.format.intervals import Intervals

_NUMBERS = st.lists(st.integers(-20, 60), max_size=40)


def _of(*parts: list[int]) -> Intervals:
    intervals = Intervals()
    for part in parts:
        intervals.add(np.array(part, np.int64))
    return intervals


@given(_NUMBERS, _NUMBERS, _NUMBERS)
def test_they_are_sets(first: list[int], second: list[int], third: list[int]) -> None:
    one, other = _of(first, second), _of(third)
    expected = {*first, *second}

    assert one.values().tolist() == sorted(expected)
    assert one.size == len(expected)
    assert one.has(np.arange(-25, 65)).tolist() == [number in expected for number in range(-25, 65)]
    assert one.minus(other).values().tolist() == sorted(expected - {*third})
    one.update(other)
    assert one.values().tolist() == sorted(expected | {*third})
    assert (one.starts[1:] > one.ends[:-1]).all(), "intervals that touch are one"


def test_consecutive_ones_need_no_room() -> None:
    intervals = _of(list(range(1000)), list(range(1000, 5000)), [6000])

    assert (intervals.starts.tolist(), intervals.ends.tolist()) == ([0, 6000], [5000, 6001])
