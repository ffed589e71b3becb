"""When a message was stored at the latest: its copies must have survived from then on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import FOREVER
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.judge.explaining.cases import Cases


@pytest.mark.parametrize(
    ("times", "stored_ns"),
    [
        ({"written_ns": 10, "at_ns": 20, "acked_ns": 90}, 20),
        ({"written_ns": 10, "at_ns": 20}, 20),
        ({"written_ns": 10, "at_ns": 90, "acked_ns": 20}, 20),
        ({"written_ns": 30, "at_ns": 20, "acked_ns": 90}, 90),
        ({"written_ns": 10, "acked_ns": 90}, 90),
        ({"written_ns": 10}, FOREVER),
    ],
    ids=["read first", "never acknowledged", "acknowledged first", "impossible", "not read", "neither"],
)
def test_what_a_reader_received_was_stored_then(times: dict[str, int], stored_ns: int) -> None:
    cases = _cases(About.MESSAGE, times)

    assert cases.stored_ns(cases.message).tolist() == [stored_ns]


@pytest.mark.parametrize("about", [About.PAIR, About.READING])
def test_what_is_not_about_one_message_counts_from_the_acknowledgement(about: About) -> None:
    cases = _cases(about, {"written_ns": 10, "at_ns": 20, "acked_ns": 90})

    assert cases.stored_ns(cases.message).tolist() == [90]


def _cases(about: About, times: dict[str, int]) -> Cases:
    row: dict[str, Any] = {"anomaly": "gone", "topic": "log-0", "partition": 0, "value": 1, **times}
    rows = pa.table({name: pa.array([row.get(name)], FINDINGS.field(name).type) for name in FINDINGS.names})
    cases = Cases.of(Anomaly("gone", "a message is gone", (LOG,), about=about), rows)
    assert cases.at_ns.dtype == np.int64
    return cases
