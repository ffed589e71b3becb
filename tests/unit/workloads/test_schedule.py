"""How long a producer waits between two sends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaoskit.load.schedule import Schedule

NOW_NS = 10**15


@pytest.fixture(autouse=True)
def _the_clock_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaoskit.load.schedule.time", SimpleNamespace(monotonic_ns=lambda: NOW_NS))


@pytest.mark.parametrize(
    ("rate", "early_s", "wait_s"),
    [(10, 0.09, 0.05), (10, 0.02, 0.02), (2000, 0.0004, 0.000125), (10_000, 0.0001, 0.00005), (10**6, 0.0001, 0.00005)],
)
def test_completions_are_looked_for_between_sends(rate: int, early_s: float, wait_s: float) -> None:
    schedule = Schedule(rate, 1, NOW_NS + round(early_s * 1e9), 0)

    assert schedule.wait_s(0, room=1) == pytest.approx(wait_s)


def test_what_is_due_is_not_waited_for_unless_there_is_no_room() -> None:
    schedule = Schedule(1000, 1, NOW_NS - 10**9, 0)

    assert schedule.wait_s(0, room=1) == 0
    assert schedule.wait_s(0, room=0) == 0.001
    assert Schedule("max", 1, 0, 0).wait_s(0, room=1) == 0
