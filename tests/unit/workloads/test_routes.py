"""Where messages go: every partition in turn, and one key always to one partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.contract.workload import PRODUCER, Job, Task
from chaoskit.history.origin import write_origin
from chaoskit.history.wal import WalWriter
from workloads.log import LogOptions
from workloads.producing import Route, routes


class Names:
    """Gives each name an id, as a write-ahead log does."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def name(self, text: str) -> int:
        if text not in self.known:
            self.known.append(text)
        return self.known.index(text) + 1


def _routes(wal: Any, **given: Any) -> list[Route]:
    options = LogOptions.model_validate(given)
    clients: Any = None
    return routes(Job(Task(PRODUCER, 0), options, clients, wal, clients, 0))


@given(topics=st.integers(1, 3), partitions=st.integers(1, 20))
def test_without_keys_every_partition_has_its_turn(topics: int, partitions: int) -> None:
    found = _routes(Names(), topics=topics, partitions=partitions)

    assert [(topic, partition) for topic, _, partition, _, _ in found] == [
        (f"log-{topic}", partition) for topic in range(topics) for partition in range(partitions)
    ]
    assert {key for *_, key in found} == {None}


@given(keys=st.integers(1, 50), partitions=st.integers(1, 20))
def test_a_key_goes_to_one_partition_of_each_topic(keys: int, partitions: int) -> None:
    found = _routes(Names(), topics=2, partitions=partitions, keys=keys)

    first, second = (
        {key: partition for name, _, partition, _, key in found if name == topic} for topic in ("log-0", "log-1")
    )
    assert first == second
    assert len(found) == 2 * keys == 2 * len(first)
    assert all(0 <= partition < partitions for partition in first.values())


@pytest.mark.parametrize("partitions", [1, 3, 16])
def test_many_keys_use_every_partition(partitions: int) -> None:
    found = _routes(Names(), partitions=partitions, keys=200)

    assert {partition for _, _, partition, _, _ in found} == set(range(partitions))


def test_keys_go_where_the_consistent_partitioner_sends_them() -> None:
    found = _routes(Names(), partitions=7, keys=3)

    # CRC-32 of b"key-0", b"key-1", b"key-2", modulo 7.
    assert [(key, partition) for _, _, partition, _, key in found] == [(b"key-0", 6), (b"key-1", 0), (b"key-2", 3)]


def test_ids_are_those_of_the_write_ahead_log(tmp_path: Path) -> None:
    write_origin(tmp_path)
    with WalWriter(tmp_path, "producer-0", 0) as wal:
        found = _routes(wal, keys=2)

        assert [(name, key) for _, name, _, key, _ in found] == [
            (wal.name("log-0"), wal.name("key-0")),
            (wal.name("log-0"), wal.name("key-1")),
        ]
