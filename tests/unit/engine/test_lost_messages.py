"""How many messages a verdict calls lost."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.judge.verdict.headline import StoredAnomaly, lost_messages

_FAULT, _RETENTION = {"count": 6, "faults": [0]}, {"count": 3, "faults": []}


def _told(count: int, causes: tuple[dict[str, Any], ...] = (), *, allowed: bool = True) -> StoredAnomaly:
    return StoredAnomaly(count, allowed, causes)


@pytest.mark.parametrize(
    ("anomalies", "lost"),
    [
        ({}, 0),
        ({"lost": _told(5), "lost-entry": _told(7)}, 7),
        ({"expired": _told(3, (_RETENTION,))}, 0),
        ({"lost": _told(5), "expired": _told(9, (_FAULT, _RETENTION))}, 11),
        ({"lost": _told(5), "expired": _told(9, allowed=False)}, 14),
        ({"lost": _told(5), "unacked-vanished": _told(2), "dead-letter-missing": _told(1)}, 8),
        ({"dropped": _told(5), "unseen": _told(4), "truncated": _told(3)}, 0),
    ],
    ids=[
        "nothing",
        "one message found twice",
        "retention",
        "deleted after a power cut",
        "unexplained",
        "vanished from a queue",
        "dropped by a limit, undecided, or cut off",
    ],
)
def test_what_no_limit_or_retention_explains_is_lost(anomalies: dict[str, StoredAnomaly], lost: int) -> None:
    assert lost_messages(anomalies) == lost
