"""Who leads a partition, when brokers tell different things."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.deploy.witnesses import Witnesses, majority

_PLACE = ("t", 0)


def _says(leader: int) -> dict[Any, Any]:
    return {_PLACE: SimpleNamespace(leader=leader)}


@pytest.mark.parametrize(
    ("leaders", "brokers", "leader", "unsure"),
    [
        ([1], 3, 1, True),
        ([1, 1], 3, 1, False),
        ([1, 2], 3, 1, True),
        ([1, 2, 2], 3, 2, False),
        ([1], 1, 1, False),
        ([1, 2], 2, 1, True),
        ([-1, 2, 2], 3, 2, False),
    ],
)
def test_most_brokers_are_believed(leaders: list[int], brokers: int, leader: int, unsure: bool) -> None:
    agreed, open_ = majority([_says(leader) for leader in leaders], brokers)

    assert (agreed[_PLACE].leader, open_) == (leader, unsure)


def test_the_word_of_one_that_is_cut_off_does_not_count() -> None:
    answers = {"a": 1, "b": 2, "c": 2}
    connected = []

    def connect(address: str) -> Any:
        connected.append(address)
        partitions = {0: SimpleNamespace(leader=answers[address])}
        topics = {"t": SimpleNamespace(partitions=partitions), "other": SimpleNamespace(partitions=partitions)}
        return SimpleNamespace(list_topics=lambda **_: SimpleNamespace(topics=topics))

    witnesses = Witnesses(connect, ["a", "b", "c"])

    for _ in range(2):
        states = witnesses.states(["t", "gone"])
        assert {place: state.leader for place, state in states.items()} == {_PLACE: 2}
    assert {"a", "b", "c"} <= set(connected)


def test_nobody_answers() -> None:
    def connect(address: str) -> Any:
        raise OSError(f"{address} is down")

    with pytest.raises(ServiceError, match=r"no metadata from Kafka: . is down"):
        Witnesses(connect, ["a", "b"]).states(["t"])


def test_silent_brokers_are_not_waited_for() -> None:
    heard = threading.Event()

    def connect(address: str) -> Any:
        topics = {"t": SimpleNamespace(partitions={0: SimpleNamespace(leader=3)})}
        if address != "c":
            heard.wait()
        return SimpleNamespace(list_topics=lambda **_: SimpleNamespace(topics=topics))

    try:
        assert Witnesses(connect, ["a", "b", "c"]).states(["t"])[_PLACE].leader == 3, "two are paused and never answer"
    finally:
        heard.set()
