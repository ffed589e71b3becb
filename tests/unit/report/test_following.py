"""What follows from a loss is listed under it; what has a cause of its own is not."""

from __future__ import annotations

from typing import Any

from chaoskit.judge.verdict.headline import StoredAnomaly
from chaoskit.report.following import in_order

CUT: dict[str, Any] = {"rule": "kafka.os-flush", "faults": [0]}
RESET: dict[str, Any] = {"rule": "kafka.retries", "faults": [1]}


def test_what_follows_comes_after_the_loss() -> None:
    anomalies = {
        "truncated": StoredAnomaly(400, True, [CUT]),
        "duplicate": StoredAnomaly(3, True, [RESET]),
        "offset-conflict": StoredAnomaly(2, True, [CUT]),
        "reordered": StoredAnomaly(2, False, []),
        "lost": StoredAnomaly(500, True, [CUT]),
        "late": StoredAnomaly(0, True, []),
    }

    assert list(in_order(anomalies)) == [
        ("duplicate", False),
        ("reordered", False),
        ("lost", False),
        ("truncated", True),
        ("offset-conflict", True),
        ("late", False),
    ]


def test_without_a_fault_all_that_a_loss_implies_follows_from_it() -> None:
    anomalies = {
        "sequence-jump": StoredAnomaly(1, False, []),
        "lost": StoredAnomaly(20, False, []),
        "phantom": StoredAnomaly(1, False, []),
    }

    assert list(in_order(anomalies)) == [("lost", False), ("sequence-jump", True), ("phantom", False)]


def test_what_follows_from_a_duplicate_lies_under_it() -> None:
    anomalies = {"sequence-jump": StoredAnomaly(4, True, [RESET]), "duplicate": StoredAnomaly(3, True, [RESET])}

    assert list(in_order(anomalies)) == [("duplicate", False), ("sequence-jump", True)]


def test_what_is_not_allowed_does_not_follow_from_what_is() -> None:
    """The other way round it does: an expectation forbids the loss, and what follows has its colour."""
    for lost, jump, follows in ((True, False, False), (False, True, True)):
        anomalies = {"lost": StoredAnomaly(4, lost, [CUT]), "sequence-jump": StoredAnomaly(3, jump, [CUT])}

        assert list(in_order(anomalies)) == [("lost", False), ("sequence-jump", follows)]


def test_a_lost_entry_is_a_lost_message() -> None:
    anomalies = {
        "truncated": StoredAnomaly(2, False, []),
        "lost": StoredAnomaly(9, False, []),
        "lost-entry": StoredAnomaly(9, False, []),
    }

    assert list(in_order(anomalies)) == [("lost-entry", False), ("truncated", True), ("lost", True)]
