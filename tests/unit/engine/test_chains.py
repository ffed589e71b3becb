"""What had happened before a fault that explains a loss."""

from __future__ import annotations

import pytest
from test_consequence import PLACE, SECOND, WHOLE, _fault, _placements, _stood

from chaoskit.history.compacting.placements import Standing
from chaoskit.history.format.fault import Fault
from chaoskit.judge.faults.chains import chain, with_procedure

SLOW, CUT = _fault(5, 20, 0, "n2"), Fault(1, "power-cut", 12 * SECOND, targets=("n1",), effective_ns=1)


@pytest.mark.parametrize(
    ("standings", "words"),
    [
        (
            [WHOLE, _stood(8, "n1", "n1 n3"), _stood(10, "n1", "n1"), _stood(13, "n3", "n3")],
            "n2 had been out of sync since 8.0 s (disk-slow); n3 had been out of sync since 10.0 s: so n1 was the only "
            "replica in sync for log-0/0 when power-cut of n1 began",
        ),
        (
            [WHOLE, _stood(8, "n1", "n1 n3")],
            "n2 had been out of sync since 8.0 s (disk-slow): so n1, n3 were in sync for log-0/0 when power-cut of n1 "
            "began",
        ),
        ([WHOLE, _stood(8, "n1", "n1 n3"), _stood(11, "n1", "n1 n2 n3")], ""),  # it was back
        ([WHOLE, _stood(13, "n1", "n1")], ""),  # only afterwards
        ([_stood(0, "n1", None)], ""),  # nobody knows
        ([], ""),
    ],
)
def test_who_was_out_of_sync_is_told_with_the_fault_that_held(standings: list[Standing], words: str) -> None:
    assert chain([1], [SLOW, CUT], _placements(*standings), PLACE) == words


def test_who_was_out_before_any_fault_is_told_without_one() -> None:
    placements = _placements(WHOLE, _stood(2, "n1", "n1 n3"))

    assert chain([1], [SLOW, CUT], placements, PLACE).startswith("n2 had been out of sync since 2.0 s: so n1, n3 were")


@pytest.mark.parametrize(
    ("remedy", "chains", "words"),
    [
        ("set a=1", ["", ""], "set a=1"),
        ("set a=1", ["", "n2 had been"], "set a=1; or take no replica away while another one is out of sync"),
        ("", ["n2 had been"], "take no replica away while another one is out of sync"),
        ("", [], ""),
        (
            "take no replica away while another one is out of sync",
            ["n2 had been"],
            "take no replica away while another one is out of sync",
        ),
    ],
)
def test_operators_are_told_to_wait_if_somebody_was_out_of_sync(remedy: str, chains: list[str], words: str) -> None:
    assert with_procedure(remedy, [{"chain": words_of} for words_of in chains]) == words


def test_of_a_setting_alone_nothing_is_told() -> None:
    assert chain([], [SLOW, CUT], _placements(WHOLE, _stood(8, "n1", "n1")), PLACE) == ""
