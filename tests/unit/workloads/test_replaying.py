"""A consumer that goes back once: where to, how that is recorded, and that it tries again if it failed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, Row, rows_of

from chaoskit.contract.workloads.workload import CONSUMER, Task
from chaoskit.model import payload
from chaoskit.model.message import Delivery
from workloads.log.options import LogOptions
from workloads.log.workload import LogWorkload


class Log(Powers):
    """A partition of which every poll gives one message; those before `fresh` were sent long ago."""

    def __init__(self, count: int, fresh: int = 0, failures: int = 0) -> None:
        self.at = 0
        self.sought: list[Any] = []
        self._count, self._fresh, self._failures = count, fresh, failures

    def seeking_consumer(self, settings: Any, group: int) -> Log:
        return self

    consumer = producer = prober = auditor = seeking_consumer

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[Any], str | None]:
        if self.at == self._count:
            return [], [], None
        sent_ns = time.monotonic_ns() if self.at >= self._fresh else -(10**18)
        content = payload.Writer(RUN, 100).build(self.at, sent_ns, sent_ns)
        self.at += 1
        return [Delivery("log-0", 0, None, content, self.at - 1, None)], [], None

    def seek_to(self, place: Any, position: int) -> str | None:
        self.sought.append(position)
        if len(self.sought) <= self._failures:
            return "NOT_LEADER"
        self.at = position
        return None

    def seek_to_time(self, place: Any, at_ms: int) -> str | None:
        self.sought.append(at_ms)
        self.at = 0
        return None

    def assign(self, partitions: Any) -> None:
        """It has one."""

    def hold(self, *, paused: bool) -> None:
        """Nobody pauses."""

    def close(self) -> None:
        """Nothing is held."""


def _read(folder: Path, log: Log, looks: int, by: str) -> tuple[list[int], list[Row], list[Row]]:
    """Let a consumer read; return the positions, what it sought, and its replays."""
    load = Load(folder, LogWorkload(), log)
    options = LogOptions.model_validate({"consumers": 1, "replay": {"after": "1s", "back": "1s", "by": by}})
    load.work(Task(CONSUMER, 0), looks, options)
    history = load.history()
    messages, observations = rows_of(history, "log-0")
    replays = [row for row in history.operations.to_pylist() if row["f"] == "replay"]
    return (
        [message["position"] for message in messages],
        [observation for observation in observations if observation["kind"] == "sought"],
        replays,
    )


def test_a_consumer_goes_back_once_to_the_first_position_that_it_received(tmp_path: Path) -> None:
    positions, (sought,), (replay,) = _read(tmp_path, Log(9), 4, "position")

    assert positions == [0, 0, 1, 2]
    assert (sought["op"], sought["name"], sought["position"], sought["value"]) == (replay["op"], "position", 0, 10**9)
    assert replay["outcome"] == "ok"


def test_by_time_it_must_be_at_what_was_certainly_sent_since_then(tmp_path: Path) -> None:
    log = Log(9, fresh=2)
    positions, (sought,), _ = _read(tmp_path, log, 6, "time")

    assert positions == [0, 1, 2, 0, 1, 2]
    assert sought["position"] == 2
    booted_ms = (time.time_ns() - time.monotonic_ns()) // 10**6
    assert abs(log.sought[0] - booted_ms) < 1000


def test_a_seek_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaoskit.load.replay._AGAIN_NS", 0)
    positions, sought, replays = _read(tmp_path, Log(9, failures=2), 6, "position")

    assert positions == [0, 1, 2, 0, 1, 2]
    assert [seek["position"] for seek in sought] == [0, 0, 0]
    assert [(replay["outcome"], replay["error"]) for replay in replays] == [("info", "NOT_LEADER")] * 2 + [("ok", None)]
