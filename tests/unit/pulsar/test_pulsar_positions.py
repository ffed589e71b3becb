"""Positions keep the order of ledger, entry and batch index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.positions import BATCH_BITS, BATCH_MAX, ENTRY_BITS, LEDGER_BITS, pack, unpack

PLACES = st.tuples(
    st.integers(0, 2**LEDGER_BITS - 1), st.integers(0, 2**ENTRY_BITS - 1), st.integers(0, 2**BATCH_BITS - 1)
)


@given(PLACES, PLACES)
def test_positions_are_ordered_as_messages_are(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    assert (pack(*one) < pack(*other)) == (one < other)


@given(PLACES)
def test_a_position_says_where_a_message_is(place: tuple[int, int, int]) -> None:
    assert unpack(pack(*place)) == place
    assert 0 <= pack(*place) < 2**63


def test_a_message_without_a_batch_lies_where_the_first_of_a_batch_would() -> None:
    assert pack(3, 4, -1) == pack(3, 4, 0)


@pytest.mark.parametrize("place", [(2**24, 0, 0), (0, 2**27, 0), (0, 0, BATCH_MAX), (-1, -1, -1), (0, -1, 0)])
def test_a_place_that_does_not_fit_is_refused(place: tuple[int, int, int]) -> None:
    with pytest.raises(ServiceError, match="does not fit into 63 bits"):
        pack(*place)
