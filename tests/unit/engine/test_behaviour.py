"""What clients experienced under a fault, beyond what varies anyway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded import Sent, fault, figures_of, load, recorded

from chaoskit.model.outcome import FAIL, INFO, OK

END_MS = 20_000
FAULT = fault(8_000, 11_000, 11_000)


def _load(took_ms: dict[tuple[int, int], int], otherwise_ms: int = 2, every_ms: int = 20) -> list[Sent]:
    """Sends every 20 ms that take 2 ms, or another time in some intervals."""
    sends: list[Sent] = []
    for at in range(0, END_MS, every_ms):
        took = next((took for (low, high), took in took_ms.items() if low <= at < high), otherwise_ms)
        sends.append((0, at, at + took, OK))
    return sends


def _behaviour(folder: Path, sends: list[Sent], *faults: Any, **given: Any) -> Any:
    return figures_of(recorded(folder, sends, **given), load(END_MS), *(faults or [FAULT]))["behaviour"]


def test_a_fault_under_which_everything_went_on_changed_nothing(tmp_path: Path) -> None:
    assert _behaviour(tmp_path, _load({})) == [{}]


@pytest.mark.parametrize(
    ("took", "slower"),
    [
        ({(8_000, 11_000): 60}, {"p50_ms": [2.0, 60.0], "p99_ms": [2.0, 60.0]}),
        ({(8_000, 11_000): 5}, {}),  # by less than the margin
        ({(8_000, 11_000): 60, (3_000, 3_100): 300, (4_000, 5_000): 50}, {}),  # no slower than at other times
        ({(9_000, 9_100): 400}, {}),  # once in three seconds
    ],
)
def test_sends_are_slower_if_they_are_beyond_the_worst_time_outside_of_faults(
    took: dict[tuple[int, int], int], slower: dict[str, list[float]], tmp_path: Path
) -> None:
    (behaviour,) = _behaviour(tmp_path, _load(took))

    assert behaviour.get("send", {}) == {name: pytest.approx(pair, rel=0.02) for name, pair in slower.items()}


def test_a_stall_is_told_with_its_length(tmp_path: Path) -> None:
    sends = [send for send in _load({}) if not 8_500 <= send[1] < 9_900]
    stalled: Sent = (0, 8_500, 9_900, OK)

    (behaviour,) = _behaviour(tmp_path, [*sends, stalled])

    assert behaviour["stalled_ms"] == pytest.approx(1_400, abs=25)


def test_a_stall_that_is_as_long_outside_of_faults_is_none(tmp_path: Path) -> None:
    sends = [send for send in _load({}) if not (8_500 <= send[1] < 9_100 or 3_500 <= send[1] < 4_000)]

    (behaviour,) = _behaviour(tmp_path, [*sends, (0, 8_500, 9_100, OK), (0, 3_480, 4_000, OK)])

    assert "stalled_ms" not in behaviour


def test_sends_that_were_not_acknowledged_are_counted(tmp_path: Path) -> None:
    sends = [(at[0], at[1], at[2], FAIL if 9_000 <= at[1] < 9_200 else at[3]) for at in _load({})]

    assert _behaviour(tmp_path, sends)[0]["not_acknowledged"] == 10


def test_sends_that_were_open_when_the_fault_began_are_no_measure_of_what_is_usual(tmp_path: Path) -> None:
    sends = [(send[0], send[1], None, INFO) if send[1] >= 6_000 else send for send in _load({})]

    assert _behaviour(tmp_path, sends)[0]["not_acknowledged"] == 150


def test_a_stall_that_began_under_a_fault_counts_beside_a_longer_one_from_before(tmp_path: Path) -> None:
    sends = [send for send in _load({}) if not (6_900 <= send[1] < 8_100 or 9_000 <= send[1] < 13_800)]

    (behaviour,) = _behaviour(tmp_path, [*sends, (0, 6_900, 8_100, OK), (0, 9_000, 13_800, OK)])

    assert behaviour["stalled_ms"] == pytest.approx(4_800, abs=25)


def test_sends_that_fail_as_often_without_a_fault_are_no_consequence(tmp_path: Path) -> None:
    sends = [(at[0], at[1], at[2], INFO if at[1] % 1_000 < 100 else at[3]) for at in _load({})]

    assert "not_acknowledged" not in _behaviour(tmp_path, sends)[0]


def test_fewer_acknowledgements_are_told_as_rates(tmp_path: Path) -> None:
    sends = [send for send in _load({}) if not 8_000 <= send[1] < 11_000 or send[1] % 100 == 0]

    assert _behaviour(tmp_path, sends)[0]["acks_per_s"] == [50.0, 10.0]


def test_messages_that_reach_consumers_late_are_told(tmp_path: Path) -> None:
    sends = _load({})
    received = [
        ("consumer-0", number, 12_000 if 8_000 <= sent[1] < 11_000 else sent[1] + 5)
        for number, sent in enumerate(sends)
    ]
    history = recorded(tmp_path, sends, received)

    (behaviour,) = figures_of(history, load(END_MS), FAULT)["behaviour"]

    assert behaviour.keys() == {"end_to_end", "unheard_ms"}
    assert behaviour["unheard_ms"] == 3_003  # until what was sent later arrived
    assert behaviour["end_to_end"]["p50_ms"] == pytest.approx([5, 2_500], rel=0.02)


@pytest.mark.parametrize("span", [(30_000, 31_000), (20_000, 20_500)])
def test_of_a_fault_after_the_load_nobody_can_tell(span: tuple[int, int], tmp_path: Path) -> None:
    assert _behaviour(tmp_path, _load({}), fault(span[0], span[1], span[1])) == [None]


def test_without_a_time_outside_of_faults_nothing_is_compared(tmp_path: Path) -> None:
    assert _behaviour(tmp_path, _load({(8_000, 11_000): 60}), fault(0, None, None)) == [None]


def test_where_nothing_was_sent_nobody_can_tell_what_a_fault_changed(tmp_path: Path) -> None:
    before = [send for send in _load({}) if send[1] < FAULT.start_ns // 1_000_000 - 1_000]

    assert _behaviour(tmp_path, before) == [None]


@pytest.mark.parametrize(("slow_for_ms", "degraded_ms"), [(900, None), (4_000, 4_000)])
def test_a_load_that_nearly_stood_still_for_a_part_of_a_fault_was_degraded(
    slow_for_ms: int, degraded_ms: int | None, tmp_path: Path
) -> None:
    """Two of 50 sends a second are acknowledged, for less than half of the fault: its median tells nothing."""
    slow = range(5_000, 5_000 + slow_for_ms)
    sends = [send for send in _load({}) if send[1] not in slow or send[1] % 500 == 0]

    (behaviour,) = _behaviour(tmp_path, sends, fault(5_000, 15_000, 15_000))

    assert behaviour.get("degraded_ms") == degraded_ms
    assert "acks_per_s" not in behaviour


@pytest.mark.parametrize(("arrive", "rates"), [(1, None), (4, [50.0, 12.5])])
def test_messages_that_were_acknowledged_and_reached_nobody_are_told(
    arrive: int, rates: list[float] | None, tmp_path: Path
) -> None:
    sends = _load({})
    received = [
        ("consumer-0", number, sent[1] + 5)
        for number, sent in enumerate(sends)
        if not 8_000 <= sent[1] < 11_000 or number % arrive == 0
    ]

    (behaviour,) = figures_of(recorded(tmp_path, sends, received), load(END_MS), FAULT)["behaviour"]

    assert behaviour == ({} if rates is None else {"arrived_per_s": pytest.approx(rates, rel=0.05)})
