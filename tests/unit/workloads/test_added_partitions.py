"""Partitions that are added under load: producers choose from them once their client learns of them, and the final read
reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, rows_of

from chaoskit.contract.workloads.workload import PRODUCER, Task
from chaoskit.load import rerouting
from chaoskit.model import payload
from chaoskit.model.audit import Bounds
from chaoskit.model.message import Delivery
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OK
from workloads.log.options import LogOptions
from workloads.log.workload import LogWorkload

OPTIONS = LogOptions(keys=10, rate="max", in_flight=1)


class Growing(Powers):
    """A topic with one partition, and with three after so many sends; nobody tells how many while it is `silent`."""

    asks_every_s = 0.0

    def __init__(self, *, after: int = 6, silent: bool = False) -> None:
        self.contents: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
        self.sends = 0
        self._after = after
        self._silent = silent
        self._assigned: list[int] = []

    def producer(self, settings: Any, completed: Any) -> Growing:
        self.completed = completed
        return self

    prober = producer

    def consumer(self, settings: Any, group: int = 0) -> Growing:
        return self

    def auditor(self, settings: Any) -> Growing:
        return self

    def send(self, topic: str, partition: int, key: bytes | None, content: bytes, token: int) -> bool:
        self.sends += 1
        self.contents[partition].append(content)
        self.completed(token, OK, None, len(self.contents[partition]) - 1)
        return True

    def partition_count(self, topics: list[str], timeout_s: float) -> int | None:
        assert topics == ["log-0"]
        return None if self._silent else (3 if self.sends >= self._after else 1)

    def pending(self) -> int:
        return 0

    def assign(self, partitions: list[tuple[str, int]]) -> None:
        self._assigned = [partition for _, partition in partitions]

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        return 0, len(self.contents[partition])

    def position(self, topic: str, partition: int) -> int:
        return 0 if partition in self._assigned else len(self.contents[partition])

    def poll(self, timeout_s: float, messages_max: int = 0) -> Any:
        deliveries = [
            Delivery("log-0", partition, None, content, at, None)
            for partition in self._assigned
            for at, content in enumerate(self.contents[partition])
        ]
        self._assigned = []
        return deliveries, [], None

    def close(self, timeout_s: float = 0) -> None:
        """Nothing is held."""


class Deaf(Growing):
    """A client that never asks."""

    asks_every_s = math.inf


class _AtOnce:
    """Does what a thread would do, before the caller goes on."""

    def __init__(self, threads: int) -> None:
        assert threads == 1

    def submit(self, work: Callable[..., object], *given: object) -> Future[object]:
        done: Future[object] = Future()
        done.set_result(work(*given))
        return done


@pytest.fixture(autouse=True)
def _without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerouting, "ThreadPoolExecutor", _AtOnce)


def _counts(load: Load) -> list[int]:
    history = load.history()
    places = sorted((part.topic, part.partition) for part in history.partitions)
    observed = [row for place in places for row in rows_of(history, *place)[1] if row["kind"] == "partitions"]
    return [row["value"] for row in observed]


def test_keys_move_once_the_client_learns_of_the_partitions(tmp_path: Path) -> None:
    log = Growing()
    load = Load(tmp_path, LogWorkload(), log)
    load.work(Task(PRODUCER, 0), 30, OPTIONS)

    assert all(log.contents.values())
    assert _counts(load) == [3, 3, 3]


@pytest.mark.parametrize("log", [Growing(silent=True), Deaf(), Growing(after=10_000)], ids=["silent", "deaf", "none"])
def test_a_client_that_does_not_learn_of_them_goes_on(tmp_path: Path, log: Growing) -> None:
    load = Load(tmp_path, LogWorkload(), log)
    load.work(Task(PRODUCER, 0), 30, OPTIONS)

    assert log.sends > 20
    assert [len(contents) for contents in log.contents.values()] == [log.sends, 0, 0]
    assert _counts(load) == []


def test_the_final_read_reads_what_was_added(tmp_path: Path) -> None:
    log = Growing(after=0)
    load = Load(tmp_path, LogWorkload(), log)
    log.contents[2].append(payload.Writer(RUN, 100).build(0, 1, 1))
    result = load.work(Task(AUDITOR, 0), 10, OPTIONS)

    assert result["accepted"]
    assert result["audited"]
    assert result["received"] == {"log-0/0": 1, "log-0/2": 1}
    assert load.history().audit("log-0", 2) == Bounds(0, 1, complete=True, reached=1)


def test_a_producer_that_is_started_again_asks_before_it_sends(tmp_path: Path) -> None:
    log = Growing(after=0)
    log.asks_every_s = math.inf
    load = Load(tmp_path, LogWorkload(), log)
    load.work(Task(PRODUCER, 0, 1), 30, OPTIONS)

    assert _counts(load) == [3, 3, 3]
    assert all(log.contents.values())
