"""When consumers pause, when they go on, and what is told of a backlog."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import PhaseBegun
from chaoskit.contract.workloads.traits import Backlog
from chaoskit.model.progress import Progress
from chaoskit.run.backlog import Backlogging

_WANTED = Backlog(after_ns=5 * SECOND, copies=2, messages=100, left=10, within_ns=60 * SECOND)


class Load:
    """A load that began at 100 s; its consumers say what they are told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wanted: Backlog | None = _WANTED) -> None:
        self.now_s = 100.0
        self.told: list[str] = []
        monkeypatch.setattr(time, "monotonic_ns", lambda: int(self.now_s * SECOND))
        consumer: Any = SimpleNamespace(pause=lambda: self.told.append("!"), resume=lambda: self.told.append("?"))
        self.backlog = Backlogging(wanted, [consumer], 100 * SECOND, self)

    def on(self, event: Any) -> None:
        """Keep what begins."""
        assert isinstance(event, PhaseBegun)
        self.told.append(event.name)

    def look(self, at_s: float, acked: int, received: int) -> str | None:
        self.now_s = at_s
        return self.backlog.look(Progress(acked=acked, received=received))


def test_a_backlog_is_built_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Load(monkeypatch)

    assert load.look(104.9, 1000, 2000) is None
    assert (load.told, load.backlog.lasted_ns()) == ([], 0)
    assert load.look(105, 1000, 2000) is None
    assert load.told == ["backlog", "!"]
    assert load.look(106, 1049, 2000) is None
    assert load.told == ["backlog", "!"], "98 messages are waiting"
    assert load.look(107, 1050, 2000) is None
    assert load.told == ["backlog", "!", "read backlog", "?"]
    assert load.look(108, 1060, 2109) is None
    assert load.backlog.lasted_ns() == 3 * SECOND, "11 messages are waiting"
    assert load.look(109, 1060, 2110) is None
    assert load.told == ["backlog", "!", "read backlog", "?", "load"]
    assert load.look(120, 9000, 0) is None
    load.backlog.end()

    assert load.told == ["backlog", "!", "read backlog", "?", "load"], "once only"
    assert load.backlog.lasted_ns() == 4 * SECOND
    times = {"paused_ns": 5 * SECOND, "resumed_ns": 7 * SECOND, "read_ns": 9 * SECOND}
    assert load.backlog.told(100 * SECOND) == {**times, "messages": 100}


@pytest.mark.parametrize(("waiting", "stage"), [(50, "built"), (300, "read")])
def test_a_backlog_that_takes_too_long_ends_the_load(monkeypatch: pytest.MonkeyPatch, waiting: int, stage: str) -> None:
    load = Load(monkeypatch)
    load.look(105, 0, 0)

    assert load.look(165, waiting // 2, 0) is None
    why = f"the backlog was not {stage} within 1m: {waiting} messages are waiting"
    assert load.look(165.1, waiting // 2, 0) == why


def test_consumers_that_are_paused_when_the_load_ends_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Load(monkeypatch)
    load.look(105, 0, 0)
    load.backlog.end()

    assert load.told == ["backlog", "!", "?"]
    assert load.backlog.told(0) == {"paused_ns": 105 * SECOND, "resumed_ns": None, "read_ns": None, "messages": 0}


def test_without_a_backlog_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Load(monkeypatch, None)

    assert load.look(200, 1000, 0) is None
    load.backlog.end()
    assert (load.told, load.backlog.lasted_ns(), load.backlog.told(0)) == ([], 0, None)
