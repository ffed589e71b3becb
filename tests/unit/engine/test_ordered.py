"""What an operator ordered explains what lies on its side of the position, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from explaining import SECOND, Row, declared, explained, lost, rules
from guaranteed import effect

from chaoskit.contract.workloads.traits import Group


def test_what_an_operator_deleted_is_allowed_and_nothing_else() -> None:
    ordered = replace(effect("delete-records", "n1", start_s=20), deleted=frozenset({(("log-0", 0), 100)}))
    here, behind, elsewhere, later = (
        {**lost(at, partition), "anomaly": "expired", "position": position}
        for at, partition, position in ((10, 0, 99), (10, 0, 100), (10, 1, 99), (30, 0, 99))
    )

    assert rules([here, behind, elsewhere, later], [ordered]) == ["kafka.deleted-records", None, None, None]
    assert rules([{**here, "anomaly": "lost"}], [ordered]) == [None]


def test_whether_it_was_deleted_is_open_where_its_position_is_unknown() -> None:
    ordered = replace(effect("delete-records", "n1", start_s=20), deleted=frozenset({(("log-0", 0), 100)}))
    explanation = explained([{**lost(10), "anomaly": "expired"}], [ordered])

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["expired"] == (
        1,
        "a position is not known, and so whether an operator's order concerned it",
    )


BACK = replace(
    effect("reset-offsets", "consumer-0", start_s=20, position=-50), reset=frozenset({(("log-0", 0), (150, 100))})
)
AHEAD = replace(BACK, reset=frozenset({(("log-0", 0), (40, 100))}))
GROUPED = replace(declared(), traits=(Group(),))


def _committed(at_s: float, position: int, since_s: float = 19, partition: int = 0) -> Row:
    at_ns, since_ns = int(at_s * SECOND), int(since_s * SECOND)
    here: Row = {"topic": "log-0", "partition": partition, "position": position}
    return {"anomaly": "commit-regression", **here, "at_ns": at_ns, "since_ns": since_ns}


def test_a_group_that_was_reset_commits_again_from_there_on() -> None:
    again = [_committed(23, 100), _committed(24, 120), _committed(25, 150)]
    others = [
        _committed(23, 99),
        _committed(23, 100, partition=1),
        _committed(19.5, 120),
        _committed(26, 150, since_s=24),
    ]

    assert rules(again, [BACK], GROUPED) == ["kafka.offsets-set-back"] * 3
    for row in others:
        assert rules([row], [BACK], GROUPED) == [None]


def test_a_group_that_was_reset_goes_back_no_further_later() -> None:
    zombie = _committed(25, 110)

    assert rules([_committed(24, 120), zombie], [BACK], GROUPED) == ["kafka.offsets-set-back", None]


def _passed_over(position: int, at_s: int = 23) -> Row:
    return {**lost(10), "anomaly": "passed-over", "value": 5, "position": position, "at_ns": at_s * SECOND}


def test_a_group_that_was_set_ahead_passes_over_what_lies_between() -> None:
    between = [_passed_over(40), _passed_over(99)]
    others = [_passed_over(39), _passed_over(100), _passed_over(99, at_s=15)]

    assert rules(between, [AHEAD], GROUPED) == ["kafka.offsets-set-ahead"] * 2
    assert rules(others, [AHEAD], GROUPED) == [None] * 3
    assert rules([_passed_over(99), _passed_over(120)], [BACK], GROUPED) == [None] * 2, "a group that is set back"


def test_what_is_not_proved_to_have_been_ordered_is_open() -> None:
    explanation = explained([_passed_over(99)], [replace(AHEAD, proved=False)], GROUPED)

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["passed-over"][0] == 1


def test_a_commit_beyond_what_was_passed_over_is_open_where_receipts_are_not_recorded() -> None:
    missed, other = (
        {**_committed(23, 140), "anomaly": "commit-beyond", "other_position": first} for first in (99, 100)
    )
    explanation = explained([missed, other], [AHEAD], GROUPED)

    assert explanation.findings["rule"].to_pylist() == [None, None]
    assert explanation.open["commit-beyond"] == (1, "messages were not recorded one by one")
