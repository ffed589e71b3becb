"""Waits for acknowledgements, against a definition that goes from instant to instant, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.latency import Ints
from chaoskit.base.waits import Wait, Waits, first_of_each, waits

Send = tuple[int, int, bool]
"""When it was due, when it was acknowledged or given up, whether it was acknowledged."""

_END = 60
_SENDS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 15), st.booleans()).map(lambda s: (s[0], s[0] + s[1], s[2])),
    min_size=1,
    max_size=12,
)


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)


def _waits(sends: list[Send], load_end: int = _END) -> Waits:
    gone = max((done for _, done, acked in sends if not acked), default=0)
    acked = [done for _, done, acked in sends if acked]
    return waits(_ints([due for due, *_ in sends]), _ints([done for _, done, _ in sends]), _ints(acked), gone, load_end)


def _slowly(sends: list[Send]) -> list[tuple[int, int]]:
    """Go from instant to instant: a wait begins when a send is due, and only an acknowledgement ends it, not that the
    send is given up; another one begins at once if a send is open then."""
    acks = {done for _, done, acked in sends if acked}
    until = max((done for _, done, acked in sends if not acked), default=0)
    begin: int | None = None
    spans: list[tuple[int, int]] = []
    for instant in range(_END):
        if instant in acks:
            spans += [(begin, instant)] if begin is not None and begin < instant else []
            begin = instant if any(due <= instant < done for due, done, _ in sends) else None
        elif begin is None and any(due == instant for due, *_ in sends):
            begin = instant
    return [*spans, (begin, until)] if begin is not None and begin < until else spans


@given(_SENDS)
def test_waits_are_those_of_the_slow_definition(sends: list[Send]) -> None:
    spans = _waits(sends)

    assert list(zip(spans.begin_ns.tolist(), spans.end_ns.tolist(), strict=True)) == _slowly(sends)


def test_nothing_is_waited_for_while_nothing_is_due() -> None:
    assert _waits([(0, 1, True), (50, 51, True)]).longest(0, _END) == Wait(0, 1, answered=True)


def test_an_open_send_is_waited_for_until_it_is_given_up() -> None:
    assert _waits([(0, 1, True), (2, 30, False)]).longest(0, _END) == Wait(2, 30, answered=False)


def test_sends_that_are_refused_at_once_are_one_wait() -> None:
    refused = [(due, due + 1, False) for due in range(2, 30, 4)]

    assert _waits([(0, 1, True), *refused, (30, 31, True)]).longest(0, _END) == Wait(2, 31, answered=True)


def test_a_wait_goes_on_after_its_send_is_given_up() -> None:
    assert _waits([(1, 6, False), (50, 50, True)]).longest(0, _END) == Wait(1, 50, answered=True)


def test_time_after_the_load_counts_only_until_an_acknowledgement() -> None:
    assert _waits([(0, 1, True), (2, 30, False)], load_end=10).longest(0, _END) == Wait(2, 10, answered=False)
    assert _waits([(0, 1, True), (2, 30, True)], load_end=10).longest(0, _END) == Wait(2, 30, answered=True)


def test_a_send_that_was_due_at_the_end_was_not_answered_either() -> None:
    assert _waits([(0, 1, True), (10, 30, False)], load_end=10).after(5, 99) == Wait(10, 10, answered=False)


@pytest.mark.parametrize(
    ("instant", "before", "wait"),
    [
        (5, 99, Wait(5, 20, answered=True)),  # while one was open
        (20, 99, Wait(20, 20, answered=True)),  # at an acknowledgement
        (21, 99, Wait(30, 32, answered=True)),  # from when the next one was due
        (21, 29, None),  # which is too late to tell anything
        (33, 99, Wait(40, 50, answered=False)),
        (51, 99, None),
    ],
)
def test_recovery_counts_while_a_send_was_open_or_due(instant: int, before: int, wait: Wait | None) -> None:
    sends = [(0, 20, True), (30, 32, True), (40, 50, False)]

    assert _waits(sends).after(instant, before) == wait


def test_the_longest_wait_in_an_interval_is_cut_at_its_ends() -> None:
    spans = _waits([(0, 20, True), (30, 34, True)])

    assert spans.longest(15, 40) == Wait(0, 20, answered=True)
    assert spans.longest_within(15, 40) == Wait(15, 20, answered=True)
    assert spans.longest_within(21, 29) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30))
def test_the_first_of_each_value_is_the_earliest(rows: list[tuple[int, int]]) -> None:
    first = first_of_each(_ints([value for value, _ in rows]), _ints([at for _, at in rows]))

    earliest = {value: min(at for known, at in rows if known == value) for value, _ in rows}
    assert {value: at for (value, at), chosen in zip(rows, first.tolist(), strict=True) if chosen} == earliest
    assert np.count_nonzero(first) == len(earliest)
