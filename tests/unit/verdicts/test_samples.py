"""Messages of which one stands for many: what the checkers find of one that may have been at several positions."""

from __future__ import annotations

import numpy as np
import pytest

from chaoskit.history.format.intervals import Intervals
from chaoskit.judge.digested.samples import UNKNOWN, Fact, Range, Sample, anomalies_of
from chaoskit.model.audit import Bounds

PLACE = ("log-0", 0)
MESSAGES = Intervals(np.array([0]), np.array([3]))


def _sample(positions: Range, *, read: bool) -> Sample:
    facts = [Fact("ok", positions), Fact(positions=(0, 0) if positions == UNKNOWN else positions)]
    return Sample(PLACE, facts if read else facts[:1], MESSAGES, 0)


@pytest.mark.parametrize(
    ("positions", "read", "names"),
    [
        ((5, 9), False, ["lost"]),
        ((5, 9), True, ["lost", "truncated"]),
        ((0, 4), True, ["expired"]),
        ((0, 5), False, ["unseen"]),
        ((0, 5), True, ["unseen"]),
        (UNKNOWN, False, ["unseen"]),
        (UNKNOWN, True, ["expired"]),
    ],
)
def test_a_message_that_is_missing_from_a_log_that_begins_at_5(positions: Range, read: bool, names: list[str]) -> None:
    alone = _sample(positions, read=read)
    others = [_sample((low, low), read=True) for low in range(10)]

    assert anomalies_of([alone], {PLACE: Bounds(5, 10, complete=True)}) == [names]
    assert anomalies_of([*others, alone], {PLACE: Bounds(5, 10, complete=True)})[-1] == names


def test_without_a_complete_final_read_nothing_is_lost() -> None:
    assert anomalies_of([_sample((5, 9), read=False)], {PLACE: Bounds(5, 10, complete=False)}) == [["unseen"]]
    assert anomalies_of([_sample(UNKNOWN, read=False)], {}) == [["unseen"]]
