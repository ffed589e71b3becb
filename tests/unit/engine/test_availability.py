"""Waits for acknowledgements and recoveries of a run: of the worst partition, of each fault, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import STALLED, Sent, fault, figures_of, load, recorded

from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.model.outcome import FAIL, INFO, OK


@pytest.mark.parametrize(
    ("sends", "longest_ms"),
    [
        ([(0, at, at + 10, OK) for at in range(0, 100, 10)], 10),
        ([(0, 80, 90, OK), (0, 0, 10, OK), (0, 10, 20, OK), (0, 15, 70, OK)], 50),  # in any order
        ([(0, 0, 60, OK), (0, 61, 62, OK)], 60),  # from the start of the load
        ([(0, 0, 30, OK), (0, 31, None, INFO)], 69),  # to its end, if it is not known when a send was given up
        ([(0, 0, 5, OK), (0, 31, 50, FAIL)], 19),  # until the last one was given up
        ([(0, 0, 150, OK)], 150),  # to the first that completed after it
        ([(0, 0, 10, OK), (0, 90, 91, OK)], 10),  # not while nothing was due
    ],
)
def test_the_longest_wait_counts_while_sends_were_due(sends: list[Sent], longest_ms: int, tmp_path: Path) -> None:
    availability = figures_of(recorded(tmp_path, sends), load(100))["availability"]

    assert availability["longest_unavailable_ms"] == longest_ms


def test_a_ledger_that_is_given_up_is_not_waited_for_until_the_end(tmp_path: Path) -> None:
    history = recorded(tmp_path, [(0, 0, 10, OK), (0, 12, None, INFO)], model=LEDGER)

    assert figures_of(history, load(100))["availability"]["longest_unavailable_ms"] == 10


def test_the_load_ends_when_it_was_due_and_not_with_the_last_send(tmp_path: Path) -> None:
    history = recorded(tmp_path, STALLED)
    by_last_send = figures_of(history, load(7_990))
    figures = figures_of(history, load(19_000, last_ms=7_990, every_ms=10))

    assert by_last_send["availability"]["longest_unavailable_ms"] == pytest.approx(4_000, abs=20)
    assert figures["availability"]["longest_unavailable_ms"] == 15_000
    assert figures["rates"]["acks_per_s"] == pytest.approx(400 / 19, abs=0.1)


def test_each_partition_has_its_own_wait_and_the_worst_comes_first(tmp_path: Path) -> None:
    ends = {0: 5_968, 1: 4_000, 2: 18_750}
    sends: list[Sent] = []
    for partition, end_ms in ends.items():
        sends += [(partition, at, max(at + 1, end_ms), OK) for at in range(0, 20_000, 100)]

    figures = figures_of(recorded(tmp_path, sends), load(20_000), fault(10, 900, 1_000))

    availability = figures["availability"]
    assert availability["longest_unavailable_ms"] == 18_750  # not until any partition was served again, after 4 s
    assert availability["recovered_after_heal_ms"] == 17_750
    assert [
        (partition["partition"], partition["longest_unavailable_ms"]) for partition in availability["partitions"]
    ] == [
        ("t/2", 18_750),
        ("t/0", 5_968),
        ("t/1", 4_000),
    ]
    (told_of_it,) = availability["by_fault"]
    assert (told_of_it["unavailable_ms"], told_of_it["unavailable_in"]) == (18_750, "t/2")


GAPS: list[Sent] = [(0, 0, 10, OK), (0, 5, 20, OK), (0, 6, 60, OK), (0, 7, 90, OK), (0, 8, 100, OK)]


@pytest.mark.parametrize(
    ("span", "unavailable_ms", "recovered_ms"),
    [
        ((25, 35), 40, 25),  # from 20 to 60, healed within
        ((25, 70), 40, 20),
        ((5, 15), 10, 5),
        ((60, 61), 30, 29),  # begun at a completion: what follows it counts
        ((50, None), 40, None),  # never healed
        ((95, 99), 10, 1),
        ((120, 130), None, None),  # after the load
    ],
)
def test_each_fault_has_its_own_wait_and_recovery(
    span: tuple[int, int | None], unavailable_ms: float | None, recovered_ms: float | None, tmp_path: Path
) -> None:
    start, healed = span

    (outage,) = figures_of(recorded(tmp_path, GAPS), load(100), fault(start, None, healed))["availability"]["by_fault"]

    assert (outage["unavailable_ms"], outage["recovered_after_heal_ms"]) == (unavailable_ms, recovered_ms)


@pytest.mark.parametrize(
    ("healed_ms", "back_ms"),
    [([], None), ([200], None), ([40], 20), ([60], 0), ([40, 65], 25), ([40, 150], 20), ([40, 91], 20)],
)
def test_recovery_is_the_longest_wait_from_a_healing_to_the_next_send(
    healed_ms: list[int], back_ms: int | None, tmp_path: Path
) -> None:
    faults = [fault(0, None, at) for at in healed_ms]

    availability = figures_of(recorded(tmp_path, GAPS), load(100), *faults)["availability"]

    assert (availability["recovered_after_heal_ms"], availability["not_recovered"]) == (back_ms, 0)


def test_recovery_counts_from_the_undoing_of_a_fault_too(tmp_path: Path) -> None:
    availability = figures_of(recorded(tmp_path, GAPS), load(100), fault(21, 30, 58))["availability"]

    assert (availability["recovered_after_undoing_ms"], availability["recovered_after_heal_ms"]) == (30, 2)
    assert availability["by_fault"][0]["recovered_after_undoing_ms"] == 30


def test_a_run_has_recovered_once_another_ledger_was_written(tmp_path: Path) -> None:
    given_up: list[Sent] = [(0, 0, 10, OK), (0, 20, 60, INFO)]
    outage = fault(15, 30, 40)
    for name, further, expected in (("next", [(1, 22, 70, OK)], (30, 0)), ("none", [(1, 50, 90, FAIL)], (60, 1))):
        (tmp_path / name).mkdir()
        history = recorded(tmp_path / name, [*given_up, *further], model=LEDGER)
        availability = figures_of(history, load(100), outage)["availability"]
        assert (availability["recovered_after_heal_ms"], availability["not_recovered"]) == expected


def test_no_acknowledgement_after_a_healing_is_the_worst_recovery_and_not_none(tmp_path: Path) -> None:
    sends: list[Sent] = [(0, 0, 10, OK), (0, 20, None, INFO), (0, 70, None, INFO)]

    availability = figures_of(recorded(tmp_path, sends), load(100), fault(15, 30, 40))["availability"]

    assert (availability["recovered_after_heal_ms"], availability["recovered_after_undoing_ms"]) == (60, 70)
    assert availability["not_recovered"] == 1
    assert availability["partitions"][0]["recovered"] is False
    assert availability["by_fault"][0]["not_recovered"] == 1


def test_ledgers_of_which_none_was_ever_acknowledged_did_not_recover(tmp_path: Path) -> None:
    sends: list[Sent] = [(at // 100, at, None, INFO) for at in range(0, 1_000, 10)]
    history = recorded(tmp_path, sends, model=LEDGER)

    availability = figures_of(history, load(1_000), fault(0, 300, 400))["availability"]

    assert (availability["recovered_after_heal_ms"], availability["recovered_after_undoing_ms"]) == (600, 700)
    assert availability["not_recovered"] == 1


@pytest.mark.parametrize(("last_ms", "every_ms"), [(19_800, 100), (19_900, 0), (14_000, 2_000)])
def test_a_few_sends_missing_at_the_end_are_no_failure_to_recover(last_ms: int, every_ms: int, tmp_path: Path) -> None:
    sends: list[Sent] = [(number % 20, at, at + 5, OK) for number, at in enumerate(range(0, last_ms + 1, 100))]

    paced = load(20_000, last_ms=last_ms, every_ms=every_ms)
    availability = figures_of(recorded(tmp_path, sends), paced, fault(18_000, 18_500, last_ms))["availability"]

    assert availability["not_recovered"] == 0


def test_a_partition_that_gets_no_send_has_nothing_to_recover(tmp_path: Path) -> None:
    sends: list[Sent] = [(1, 0, 10, OK), *((0, at, at + 10, OK) for at in range(500, 1_000, 10))]

    paced = load(9_000, last_ms=990, every_ms=10, start_ms=400)
    availability = figures_of(recorded(tmp_path, sends), paced, fault(500, 600, 1_500))["availability"]

    assert availability["not_recovered"] == 1
    assert [partition["partition"] for partition in availability["partitions"]] == ["t/0"]
