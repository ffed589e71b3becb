"""The search for the highest rate that a system bears."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.interop.omb.ladder import Bracket, search


@given(st.integers(10, 2_000_000), st.integers(100, 100_000))
def test_the_highest_rate_is_found(bearable: int, first: int) -> None:
    tried: list[int] = []

    def bears(rate: int) -> bool:
        tried.append(rate)
        return rate <= bearable

    bracket = search(bears, first, 10_000_000)

    assert bracket.borne <= bearable
    assert bracket.failed is not None
    assert bearable < bracket.failed
    assert not bracket.borne or bracket.failed <= 1.1 * bracket.borne + 1
    assert tried.count(bracket.failed) == 2, "each end was run once more"
    assert tried.count(bracket.borne) == (2 if bracket.borne else 0)
    assert len(tried) < 40


def test_a_rate_that_failed_by_chance_is_not_the_end() -> None:
    spoilt = itertools.count()

    bracket = search(lambda rate: rate <= 50_000 and not (rate == 4000 and next(spoilt) == 0), 1000, 1_000_000)

    assert 45_000 < bracket.borne <= 50_000


def test_a_rate_that_was_borne_by_chance_is_not_told() -> None:
    lucky = itertools.count()

    bracket = search(lambda rate: rate <= 5000 or (rate == 8000 and next(lucky) == 0), 1000, 1_000_000)

    assert 4500 < bracket.borne <= 5000


@pytest.mark.parametrize(("bearable", "bracket"), [(10**9, Bracket(3000, None)), (0, Bracket(0, 7))])
def test_ends(bearable: int, bracket: Bracket) -> None:
    assert search(lambda rate: rate <= bearable, 1000, 3000) == bracket
