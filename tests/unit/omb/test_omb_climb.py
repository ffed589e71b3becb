"""A rate is borne if its sends are quick from when they were due, not only from when they were made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from chaoskit.interop.omb.climb import why_not
from chaoskit.interop.omb.result import Measured, result

MS = 1_000_000
WORKLOAD: Any = SimpleNamespace(
    name="w", messageSize=100, topics=1, partitionsPerTopic=1, producersPerTopic=1, consumerPerSubscription=1,
    subscriptionsPerTopic=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("late_ms", "took_ms", "words"),
    [
        (0, 2, ""),
        (1400, 2, "1 % of the sends were made 1,400.0 ms late or more"),
        (15, 15, "p99 from when a send was due was 30.0 ms"),
        (15, 4, ""),
    ],
)
def test_what_waited_before_it_was_sent_counts(late_ms: int, took_ms: int, words: str) -> None:
    due = np.arange(10_000) * MS
    late = np.where(np.arange(due.size) % 20 == 0, late_ms * MS, 0)
    took = np.full(due.size, took_ms * MS)
    done, none = due + late + took, np.zeros(0, np.int64)
    measurements = Measured(0, 10_000 * MS, done, took, late, none, np.sort(due + late), done, took, np.sort(done))
    document = result(measurements, WORKLOAD, "d")
    verdict = SimpleNamespace(verdict="valid", headline="")

    run: Any = SimpleNamespace(document=document, doubts=(), verdict=verdict, due_p99_ms=measurements.due_p99_ms)

    assert why_not(run, 1000, 20 * MS) == words
