"""Which part of a load made its p99."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded import Sent, fault, figures_of, load, recorded

from chaoskit.model.outcome import OK

END_MS = 40_000


def _sends(slow: tuple[tuple[int, int], ...], every: int = 1) -> list[Sent]:
    """Sends every 10 ms that take 2 ms; in some intervals every Nth takes 400 ms and a bit more each time."""
    sends: list[Sent] = []
    for at in range(0, END_MS, 10):
        slows = any(low <= at < high for low, high in slow) and (at // 10) % every == 0
        sends.append((0, at, at + (400 + at // 1000 if slows else 2), OK))
    return sends


def _slowest(folder: Path, sends: list[Sent], *faults: Any) -> dict[str, Any] | None:
    latency: dict[str, Any] = figures_of(recorded(folder, sends), load(END_MS), *faults)["latency"]["send"]
    return latency.get("slowest")


def test_the_stretch_is_told_with_the_faults_that_held_in_it(tmp_path: Path) -> None:
    faults = [fault(2_000, 4_000, 4_000), fault(8_000, 11_000, 11_000), fault(10_500, None, None)]

    assert _slowest(tmp_path, _sends(((8_000, 11_000),)), *faults) == {
        "from_ms": 10_000.0, "to_ms": 11_000.0, "share": 1.0, "faults": [1, 2]
    }  # fmt: skip


def test_a_stretch_without_a_fault_has_none(tmp_path: Path) -> None:
    stretches = _slowest(tmp_path, _sends(((20_000, 20_500),)), fault(2_000, 4_000, 4_000))

    assert stretches == {"from_ms": 20_000.0, "to_ms": 21_000.0, "share": 1.0, "faults": []}


def test_what_is_slow_here_and_there_was_not_made_by_one_stretch(tmp_path: Path) -> None:
    assert _slowest(tmp_path, _sends(((0, END_MS),), every=100)) is None


@pytest.mark.parametrize(("second_ms", "joined"), [(9_000, True), (30_000, False)])
def test_two_gaps_are_one_stretch_only_if_they_are_near(second_ms: int, joined: bool, tmp_path: Path) -> None:
    sends: list[Sent] = [
        (0, at, at + (900 if at in range(7_000, 7_200) or at in range(second_ms, second_ms + 200) else 2), OK)
        for at in range(0, END_MS, 10)
    ]

    assert (_slowest(tmp_path, sends) is not None) == joined


def test_few_messages_say_nothing(tmp_path: Path) -> None:
    assert _slowest(tmp_path, _sends(((8_000, 11_000),))[::5]) is None
