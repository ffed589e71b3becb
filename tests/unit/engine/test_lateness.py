"""A fault that begins late may be another incident than the planned one."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.quantities import SECOND
from chaoskit.history.format.fault import Fault
from chaoskit.judge.subject.lateness import late_starts, other_incidents
from chaoskit.scenario.timeline import PlannedFault

LOAD_S = 3
PAUSE = Fault(0, "pause", 5 * SECOND, targets=("n1",), healed_ns=9 * SECOND)


def _planned(at_s: float, **more: Any) -> PlannedFault:
    return PlannedFault(int(at_s * SECOND), "kill", ("leader",), None, **more)


def _kill(start_s: float, **more: Any) -> Fault:
    return Fault(1, "kill", int(start_s * SECOND), **{"targets": ("n2",), **more})


@pytest.mark.parametrize(
    ("fault", "planned", "late_s"),
    [
        (_kill(7.5), _planned(4), None),
        (_kill(9.5), _planned(4), 2.5),
        (_kill(9.5, targets=()), _planned(4), None),
        (_kill(9.5), _planned(4, at_most=1), None),
    ],
)
def test_a_fault_with_a_time_is_late_by_more_than_a_second(
    fault: Fault, planned: PlannedFault, late_s: float | None
) -> None:
    late = late_starts([PAUSE, fault], [_planned(2), planned], LOAD_S * SECOND)

    assert late == ({} if late_s is None else {1: int(late_s * SECOND)})


@pytest.mark.parametrize(
    ("start_s", "late_s", "happened"),
    [(9.5, 2.5, "was healed"), (8.5, 1.5, None), (6.0, 2.0, "began"), (20.0, 3.0, None)],
)
def test_what_happened_meanwhile_makes_it_another_incident(start_s: float, late_s: float, happened: str | None) -> None:
    doubts = list(other_incidents([PAUSE, _kill(start_s)], {1: int(late_s * SECOND)}))

    assert bool(doubts) == bool(happened)
    assert all(f"kill of n2 began {late_s} s late, and pause of n1 {happened} meanwhile" in doubt for doubt in doubts)
