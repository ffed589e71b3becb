"""Faults are on the disk at each change of state; the last state counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskit.history.compacting.compact import compact
from chaoskit.history.compacting.faults import FaultLog, compact_faults
from chaoskit.history.reading.reader import History


def _fault(number: int, **state: Any) -> dict[str, Any]:
    known = {"kind": "kill", "targets": ["n1", "n2"], "parameters": "{}", "start_ns": 5, "evidence": ""}
    return {"fault": number, **known, **state}


def test_the_last_state_counts(run: Path) -> None:
    with FaultLog(run / "wal") as faults:
        faults.record(_fault(1))
        faults.record(_fault(0, heal_ns=8))
        faults.record(_fault(1, effective_ns=7, evidence="pid 5 is gone"))
    assert compact_faults(run) == 2
    compact(run)
    rows = History.open(run).faults.to_pylist()
    unknown = {"effective_ns": None, "heal_ns": None, "healed_ns": None}
    assert rows == [
        {**unknown, **_fault(0, heal_ns=8)},
        {**unknown, **_fault(1, effective_ns=7, evidence="pid 5 is gone")},
    ]


def test_a_torn_last_line_is_left_out(run: Path) -> None:
    with FaultLog(run / "wal") as faults:
        faults.record(_fault(0))
        faults.record(_fault(1))
    path = run / "wal" / "faults.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    assert compact_faults(run) == 1


def test_a_run_without_faults(run: Path) -> None:
    assert compact_faults(run) == 0


def test_unknown_and_missing_columns_are_refused(run: Path) -> None:
    with FaultLog(run / "wal") as faults:
        with pytest.raises(ValueError, match='did you mean "healed_ns"'):
            faults.record(_fault(0, healedns=3))
        with pytest.raises(ValueError, match="missing fault columns: kind, targets"):
            faults.record({"fault": 0, "parameters": "{}", "start_ns": 1, "evidence": ""})
    assert compact_faults(run) == 0
