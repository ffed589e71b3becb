"""How long a producer waits between two sends."""

from __future__ import annotations

import time

import pytest

from workloads.common.schedule import Schedule


@pytest.mark.parametrize(
    ("rate", "early_s", "least_s", "most_s"),
    [
        (10, 0.09, 0.04, 0.05),
        (10, 0.02, 0.015, 0.02),
        (2000, 0.0004, 0.0001, 0.000125),
        (10_000, 0.0001, 0.00005, 0.00005),
        (1_000_000, 0.0001, 0.00005, 0.00005),
    ],
)
def test_completions_are_looked_for_between_sends(rate: int, early_s: float, least_s: float, most_s: float) -> None:
    schedule = Schedule(rate, 1, time.monotonic_ns() + int(early_s * 1e9), 0)

    assert least_s <= schedule.wait_s(0, room=1) <= most_s + 1e-9


def test_what_is_due_is_not_waited_for_unless_there_is_no_room() -> None:
    schedule = Schedule(1000, 1, time.monotonic_ns() - 10**9, 0)

    assert schedule.wait_s(0, room=1) == 0
    assert schedule.wait_s(0, room=0) == 0.001
    assert Schedule("max", 1, 0, 0).wait_s(0, room=1) == 0
