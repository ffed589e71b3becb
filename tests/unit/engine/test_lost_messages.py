"""How many messages a verdict calls lost."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.judge.headline import lost_messages


@pytest.mark.parametrize(
    ("losses", "expired", "causes", "allowed", "lost"),
    [
        ([], 0, [], True, 0),
        ([5, 7], 0, [], True, 7),
        ([], 9, [{"count": 9, "faults": []}], True, 0),
        ([5], 9, [{"count": 6, "faults": [0]}, {"count": 3, "faults": []}], True, 11),
        ([5], 9, [], False, 14),
    ],
    ids=["nothing", "one message found twice", "retention", "deleted after a power cut", "unexplained"],
)
def test_what_was_deleted_because_of_a_fault_is_lost(
    losses: list[int], expired: int, causes: list[dict[str, Any]], allowed: bool, lost: int
) -> None:
    assert lost_messages(losses, expired, causes, allowed=allowed) == lost
