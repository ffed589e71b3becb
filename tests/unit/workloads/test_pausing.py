"""A reader that pauses and goes on: each change once, and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loads import Control, Load, Powers

from chaoskit.contract.workloads.workload import CONSUMER, Task
from workloads.log.options import LogOptions
from workloads.log.workload import LogWorkload


class Source(Powers):
    """A consumer without messages that says what it was told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def consumer(self, settings: Any, group: int) -> Source:
        self.told.append(group)
        return self

    def _none(self, *_: Any) -> None:
        """Nobody asks for it."""

    producer = prober = auditor = commit = seek_to_beginning = _none

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Any], list[Any], None]:
        self.told.append("poll")
        return [], [], None

    def reached(self) -> list[Any]:
        return []

    def assign(self, partitions: Any) -> None:
        """Everything is empty."""

    def subscribe(self, topics: Any, membership: Any) -> None:
        """There are no others."""

    def hold(self, *, paused: bool) -> None:
        self.told.append("pause" if paused else "resume")

    def close(self) -> None:
        """Nothing is held."""


class _Pausing(Control):
    """Pauses at its fourth and third look from the end."""

    @property
    def stopping(self) -> bool:
        self.looks -= 1
        self.paused = self.looks in (2, 3)
        return self.looks < 0


def test_a_consumer_pauses_while_it_is_told_to(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("loads.Control", _Pausing)
    source = Source()
    load = Load(tmp_path, LogWorkload(), source)
    load.work(Task(CONSUMER, 3), 5, LogOptions(consumption="group", consumers=4, groups=2))

    assert source.told == [1, "poll", "pause", "poll", "poll", "resume", "poll", "poll"], "consumer 3 is in group 1"
    fs = [row["f"] for row in load.history().operations.to_pylist()]
    assert [f for f in fs if f != "poll"] == ["subscribe", "pause", "unpause", "close"]
