"""Where messages go: every partition in turn, and one key always to one partition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.log.options import LogOptions


def _routes(**given: Any) -> list[tuple[str, int, bytes | None]]:
    return LogOptions.model_validate(given).routes()


@given(topics=st.integers(1, 3), partitions=st.integers(1, 20))
def test_without_keys_every_partition_has_its_turn(topics: int, partitions: int) -> None:
    routes = _routes(topics=topics, partitions=partitions)

    assert [(topic, partition) for topic, partition, _ in routes] == [
        (f"log-{topic}", partition) for topic in range(topics) for partition in range(partitions)
    ]
    assert {key for *_, key in routes} == {None}


@given(keys=st.integers(1, 50), partitions=st.integers(1, 20))
def test_a_key_goes_to_one_partition_of_each_topic(keys: int, partitions: int) -> None:
    routes = _routes(topics=2, partitions=partitions, keys=keys)

    first, second = (
        {key: partition for name, partition, key in routes if name == topic} for topic in ("log-0", "log-1")
    )
    assert first == second
    assert len(routes) == 2 * keys == 2 * len(first)
    assert all(0 <= partition < partitions for partition in first.values())


@pytest.mark.parametrize("partitions", [1, 3, 16])
def test_many_keys_use_every_partition(partitions: int) -> None:
    routes = _routes(partitions=partitions, keys=200)

    assert {partition for _, partition, _ in routes} == set(range(partitions))


def test_keys_go_where_the_consistent_partitioner_sends_them() -> None:
    routes = _routes(partitions=7, keys=3)

    # CRC-32 of b"key-0", b"key-1", b"key-2", modulo 7.
    assert [(key, partition) for _, partition, key in routes] == [(b"key-0", 6), (b"key-1", 0), (b"key-2", 3)]
