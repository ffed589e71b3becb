"""What lasted longer under a fault than without one is its consequence."""

from __future__ import annotations

from math import inf
from typing import Any

import pyarrow as pa
import pytest

from chaoskit.base.quantities import SECOND
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.attribution import Explained
from chaoskit.judge.faults.consequence import consequences
from chaoskit.judge.faults.consequence_words import in_words
from chaoskit.judge.faults.lasting import lasted_longer
from chaoskit.model.tables import PLACEMENTS

OPEN = ("held-back", 4.5, 12.5)


def _findings(*lasting: tuple[str, float, float]) -> pa.Table:
    place = {"topic": "log-0", "partition": 0}
    rows = [
        {"anomaly": name, **place, "since_ns": int(since_s * SECOND), "at_ns": int(at_s * SECOND)}
        for name, since_s, at_s in lasting
    ]
    return pa.Table.from_pylist(rows, FINDINGS)


@pytest.mark.parametrize(
    ("findings", "lasted"),
    [
        ([OPEN], {"held-back": 8000.0}),
        ([OPEN, ("unowned", 6, 7)], {"held-back": 8000.0, "unowned": 1000.0}),
        ([OPEN, ("held-back", 30, 32)], {"held-back": 8000.0}),
        ([OPEN, ("held-back", 30, 33)], {}),
        ([("held-back", 30, 38)], {}),
        ([("held-back", 6, 6.4)], {}),
        ([("unowned", 1, 5.1)], {}),
        ([("lost", 4, 12)], {}),
    ],
    ids=[
        "over it",
        "two kinds",
        "longer",
        "not three times",
        "at another time",
        "short",
        "mostly before",
        "what does not last",
    ],
)
def test_what_lasted_longer(findings: Any, lasted: dict[str, float]) -> None:
    assert lasted_longer(_findings(*findings), [(5 * SECOND, 10 * SECOND)]) == [lasted]


def test_each_fault_has_what_touched_it() -> None:
    spans = [(5 * SECOND, 10 * SECOND), (20 * SECOND, inf)]
    findings = _findings(OPEN, ("held-back", 13, 14), ("held-back", 21, 25))

    assert lasted_longer(findings, spans) == [{"held-back": 8000.0}, {"held-back": 4000.0}]


def test_what_may_be_of_two_faults_is_of_neither() -> None:
    spans = [(5 * SECOND, 15 * SECOND), (6 * SECOND, 12 * SECOND)]

    assert lasted_longer(_findings(("unowned", 5.5, 14)), spans) == [{}, {}]


@pytest.mark.parametrize("late_ms", [100.0, 900.0])
@pytest.mark.parametrize("behaviour", [{}, None])
def test_it_is_a_consequence_unless_the_machine_stood_still(behaviour: Any, late_ms: float) -> None:
    crash = Fault(
        0, "client-crash", 5 * SECOND, effective_ns=6 * SECOND, healed_ns=10 * SECOND, targets=("producer-0",)
    )
    explained = Explained(_findings(OPEN), {})
    nowhere = Placements(PLACEMENTS.empty_table())
    ((changed, doubts),) = consequences([crash], [behaviour], nowhere, (), explained, (), [late_ms])

    if late_ms == 900:
        assert changed is None
        assert doubts == ["the machine was up to 900 ms late on its own, which may be all that changed"]
    else:
        assert changed == {"lasted_ms": {"held-back": 8000.0}}
        assert in_words({"consequence": changed}) == "held-back for 8,000 ms"
