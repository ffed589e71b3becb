"""A load is held open for faults that are due, for a while, and nobody else."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import LoadHeld
from chaoskit.run.held import Held


@pytest.mark.parametrize(
    ("late_s", "due", "goes_on", "held"),
    [
        (-5, (), True, False),
        (-5, ("kill",), True, False),
        (1, (), False, False),
        (1, ("kill",), True, True),
        (29, ("kill",), True, True),
        (31, ("kill",), False, False),
    ],
)
def test_how_long_a_load_goes_on(late_s: float, due: tuple[str, ...], goes_on: bool, held: bool) -> None:
    events: list[Any] = []
    faults: Any = SimpleNamespace(due=due)
    load = Held(faults, SimpleNamespace(on=events.append))  # type: ignore[arg-type]
    end_ns = time.monotonic_ns() - int(late_s * SECOND)

    assert load.goes_on(end_ns) is goes_on
    assert events == ([LoadHeld(("kill",))] if held else [])
    assert (load.lasted_ns >= late_s * SECOND) if held else load.lasted_ns == 0


def test_it_ends_once_the_fault_took_effect() -> None:
    faults = SimpleNamespace(due=("elect-leader",))
    events: list[Any] = []
    load = Held(faults, SimpleNamespace(on=events.append))  # type: ignore[arg-type]
    end_ns = time.monotonic_ns() - SECOND

    assert load.goes_on(end_ns)
    assert load.goes_on(end_ns)
    faults.due = ()
    assert not load.goes_on(end_ns)
    assert len(events) == 1
    assert SECOND <= load.lasted_ns <= 2 * SECOND
