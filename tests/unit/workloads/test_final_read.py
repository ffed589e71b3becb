"""The final read of a log: it waits for a leader that knows its end, and says why it could not read to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, rows_of

from chaoskit.contract.clients.client import Gap, PositionLost
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.workload import Task
from chaoskit.load import auditor
from chaoskit.model import payload
from chaoskit.model.audit import Bounds
from chaoskit.model.message import Delivery
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OK
from workloads.log.options import LogOptions
from workloads.log.workload import LogWorkload


class Log(Powers):
    """One partition that tells its end only when it was asked often enough."""

    def __init__(self, refusals: int, unreadable: range = range(0)) -> None:
        self.refusals = refusals
        self.unreadable = unreadable
        self.contents: list[bytes] = []
        self.read = 0

    def prober(self, settings: Any, completed: Any) -> Log:
        self.completed = completed
        return self

    def send(self, topic: str, partition: int, key: bytes | None, content: bytes, token: int) -> bool:
        self.contents.append(content)
        self.completed(token, OK, None, len(self.contents) - 1)
        return True

    def auditor(self, settings: Any) -> Log:
        return self

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        self.refusals -= 1
        if self.refusals >= 0:
            raise ServiceError("no end position of log-0/0: OFFSET_NOT_AVAILABLE")
        return 0, len(self.contents)

    def assign(self, partitions: Any) -> None:
        assert partitions, "some clients refuse to read nothing"
        self.read = 0

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[Any], str | None]:
        stop = self.unreadable.start if self.read <= self.unreadable.start < self.unreadable.stop else None
        deliveries = [Delivery("log-0", 0, None, self.contents[at], at, None) for at in range(len(self.contents))]
        deliveries = deliveries[self.read : stop]
        self.read = len(self.contents) if stop is None else stop
        return deliveries, [], None

    def gap(self, topic: str, partition: int, end: int, timeout_s: float) -> Gap | None:
        return Gap(self.read, self.unreadable.stop, "No such entry") if self.read in self.unreadable else None

    def pass_gap(self, topic: str, partition: int, until: int) -> None:
        self.read, self.unreadable = until, range(0)

    def position(self, topic: str, partition: int) -> int:
        return self.read

    def producer(self, settings: Any, completed: Any) -> Log:
        return self

    def consumer(self, settings: Any) -> Log:
        return self

    def close(self, timeout_s: float = 0) -> None:
        """Nothing is held."""


def _audited(folder: Path, log: Log) -> tuple[dict[str, Any], Bounds | None, Any]:
    """Return the operation `audit`, the bounds that were recorded, and what the harness was told."""
    log.contents = [payload.Writer(RUN, 100).build(number, 1, 1) for number in range(5)]
    load = Load(folder, LogWorkload(), log)
    result = load.work(Task(AUDITOR, 0), 10, LogOptions())
    history = load.history()
    (operation,) = (row for row in history.operations.to_pylist() if row["f"] == "audit")
    audit = history.audit("log-0", 0)
    assert audit is None or isinstance(audit, Bounds)
    return operation, audit, result


def test_a_new_leader_that_does_not_know_its_end_is_asked_again(tmp_path: Path) -> None:
    operation, bounds, result = _audited(tmp_path, Log(refusals=3))

    assert bounds == Bounds(0, 6, complete=True, reached=6)
    assert operation["outcome"] == "ok"
    assert result == {"accepted": True, "audited": True, "why": "", "probed": ["log-0/0"], "received": {"log-0/0": 6}}


def test_what_is_deleted_while_it_is_read_was_not_there(tmp_path: Path) -> None:
    class Deleting(Log):
        """The first two messages are deleted when they are about to be read."""

        low = 0

        def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[Any], str | None]:
            if not self.low:
                self.low = 2
                return [], [PositionLost("log-0", 0, "OFFSET_OUT_OF_RANGE")], None
            return super().poll(timeout_s, messages_max)

        def seek_to_beginning(self, topic: str, partition: int) -> None:
            self.read = self.low

        def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
            return self.low, len(self.contents)

    _, bounds, result = _audited(tmp_path, Deleting(refusals=0))

    assert bounds == Bounds(2, 6, complete=True, reached=6)
    assert result["audited"]


def test_what_is_deleted_just_before_it_is_read_was_not_there(tmp_path: Path) -> None:
    class Deleted(Log):
        """The first two messages are deleted between the question for the bounds and the first read."""

        low = 0

        def assign(self, partitions: Any) -> None:
            self.read = self.low = 2

        def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
            return self.low, len(self.contents)

    _, bounds, _ = _audited(tmp_path, Deleted(refusals=0))

    assert bounds == Bounds(2, 6, complete=True, reached=6)


def test_a_partition_without_a_known_end_is_incomplete_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditor, "_STALL_S", 0.2)
    operation, bounds, result = _audited(tmp_path, Log(refusals=10**9))

    assert bounds is None
    why = "no end position of log-0/0: OFFSET_NOT_AVAILABLE"
    assert (operation["outcome"], operation["error"]) == ("info", why)
    assert result == {"accepted": True, "audited": False, "why": why, "probed": [], "received": {}}


def test_a_system_that_is_gone_when_it_is_asked_why_leaves_the_read_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(Log):
        """Nobody answers why reading does not go on."""

        def gap(self, topic: str, partition: int, end: int, timeout_s: float) -> Gap | None:
            raise ServiceError("no broker answers")

    monkeypatch.setattr(auditor, "_ASK_S", 0)
    monkeypatch.setattr(auditor, "_STALL_S", 0.2)
    operation, bounds, result = _audited(tmp_path, Gone(refusals=0, unreadable=range(2, 4)))

    assert bounds == Bounds(0, 6, complete=False, reached=2)
    assert (operation["outcome"], result["audited"]) == ("info", False)


def test_what_cannot_be_passed_is_not_said_to_have_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(Log):
        """The consumer does not go on behind what it cannot read."""

        def pass_gap(self, topic: str, partition: int, until: int) -> None:
            raise ServiceError("log-0/0 cannot be read from 4 on")

    for name, short_s in {"_ASK_S": 0, "_ASK_AGAIN_S": 0, "_STALL_S": 0.2}.items():
        monkeypatch.setattr(auditor, name, short_s)
    log = Stuck(refusals=0, unreadable=range(2, 4))
    log.contents = [payload.Writer(RUN, 100).build(number, 1, 1) for number in range(5)]
    load = Load(tmp_path, LogWorkload(), log)
    result = load.work(Task(AUDITOR, 0), 10, LogOptions())
    _, observations = rows_of(load.history(), "log-0")

    assert not result["audited"]
    assert [row["kind"] for row in observations] == ["reading"]


@pytest.mark.parametrize("start", [0, 3, None])
def test_where_the_brokers_own_log_begins_is_asked_once_all_was_read(tmp_path: Path, start: int | None) -> None:
    class Tiered(Log):
        """The beginning of the log is in an object store."""

        def local_start(self, topic: str, partition: int, timeout_s: float) -> int | None:
            assert self.read == len(self.contents)
            assert 0 < timeout_s <= 20
            return start

    _, bounds, _ = _audited(tmp_path, Tiered(refusals=0))

    assert bounds == Bounds(0, 6, complete=True, reached=6, local=start)


def test_what_the_system_says_twice_that_it_cannot_read_is_passed_and_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditor, "_ASK_S", 0)
    monkeypatch.setattr(auditor, "_ASK_AGAIN_S", 0)
    log = Log(refusals=0, unreadable=range(2, 4))
    log.contents = [payload.Writer(RUN, 100).build(number, 1, 1) for number in range(5)]
    load = Load(tmp_path, LogWorkload(), log)
    result = load.work(Task(AUDITOR, 0), 10, LogOptions())
    messages, observations = rows_of(load.history(), "log-0")

    assert result["audited"]
    assert [row["position"] for row in messages if row["direction"] == "received"] == [0, 1, 4, 5]
    told_of = [(row["kind"], row["position"], row["value"]) for row in observations]
    assert told_of == [("reading", None, None), ("unreadable", 2, 4)]
    skips = [row for row in load.history().operations.to_pylist() if row["f"] == "skip"]
    assert [(row["outcome"], row["error"]) for row in skips] == [("ok", "No such entry")]
