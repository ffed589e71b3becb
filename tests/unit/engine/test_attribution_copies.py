"""A second copy of a message shows whenever somebody receives both, which may be long after what made it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from chaoskit.judge.attribution import Attribution
from explaining import HERE, SECOND, declared
from guaranteed import effect

from chaoskit.contract.checker import FINDINGS
from chaoskit.contract.guarantee import Guarantees, Rule
from chaoskit.contract.installed import anomalies

KILL = effect("kill", "n1", start_s=20, healed_s=25)


def _twice(written_s: float) -> dict[str, Any]:
    """A message that was written at a time, and received and settled twice after 100 s."""
    written_ns = int(written_s * SECOND)
    return {
        "anomaly": "redelivery-flag-missing",
        "topic": "log-0",
        "partition": 0,
        "at_ns": 101 * SECOND,
        "since_ns": 100 * SECOND,
        "written_ns": written_ns,
        "acked_ns": written_ns,
    }


def _explains(*, copies: bool, written_s: float) -> bool:
    rule = Rule(
        "any.rule",
        ("redelivery-flag-missing",),
        lambda _, effects: "a fault" if effects else "",
        "",
        "source",
        "shown",
        "control",
        copies=copies,
    )
    attribution = Attribution(Guarantees((rule,), lambda _: {}), anomalies(), declared(), [KILL], HERE)
    found = attribution.explain(pa.Table.from_pylist([_twice(written_s)], FINDINGS))
    return found.findings["rule"].to_pylist() == ["any.rule"]


@pytest.mark.parametrize("written_s", [10, 22, 40])
def test_a_fault_explains_a_copy_of_what_was_written_about_its_time(written_s: float) -> None:
    assert _explains(copies=True, written_s=written_s)
    assert not _explains(copies=False, written_s=written_s), "the delivery came long after it was healed"


def test_a_fault_does_not_explain_a_copy_of_what_was_written_long_after_it() -> None:
    assert not _explains(copies=True, written_s=60)
