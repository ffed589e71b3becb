"""A load is held open for faults that are due, for a while, and nobody else."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import LoadHeld
from chaoskit.run.faults.due import Due, Held


@pytest.mark.parametrize(
    ("late_s", "faults", "goes_on", "held"),
    [
        (-5, {}, True, False),
        (-5, {"kill": False}, True, False),
        (1, {}, False, False),
        (1, {"kill": False}, True, True),
        (29, {"kill": False}, True, True),
        (31, {"kill": False}, False, False),
        (119, {"kill": True}, True, True),  # it has begun, and takes effect step by step
        (121, {"kill": True}, False, False),
    ],
)
def test_how_long_a_load_goes_on(late_s: float, faults: dict[str, bool], goes_on: bool, held: bool) -> None:
    events: list[Any] = []
    due = Due()
    for number, (kind, begun) in enumerate(faults.items()):
        due.add(number, kind)
        if begun:
            due.begin(number)
    load = Held(due, SimpleNamespace(on=events.append))
    end_ns = time.monotonic_ns() - int(late_s * SECOND)

    assert load.goes_on(end_ns) is goes_on
    assert events == ([LoadHeld(("kill",))] if held else [])
    assert (load.lasted_ns >= late_s * SECOND) if held else load.lasted_ns == 0


def test_it_ends_once_the_fault_took_effect() -> None:
    due = Due()
    due.add(0, "elect-leader")
    events: list[Any] = []
    load = Held(due, SimpleNamespace(on=events.append))
    end_ns = time.monotonic_ns() - SECOND

    assert load.goes_on(end_ns)
    assert load.goes_on(end_ns)
    due.remove(0)
    assert not load.goes_on(end_ns)
    assert len(events) == 1
    assert SECOND <= load.lasted_ns <= 2 * SECOND
