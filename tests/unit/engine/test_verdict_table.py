"""The verdicts of a sweep with releases as columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.search import verdict_table
from chaoskit.search.sweep import Results, load_sweep

SWEEP = """
name: releases
base:
  cluster: {system: kafka, hosts: 3}
  workload: {kind: log, duration: 5s}
axes:
  fault:
    none: {}
    kill: {faults: [{at: 2s, inject: kill, on: leader, for: 1s}]}
  release:
    old: {cluster: {version: 3.9.2}}
    new: {cluster: {version: 4.4.0}}
seeds: 2
count: [lost]
columns: release
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "releases.yaml"
    file.write_text(SWEEP)
    return file


def _verdict(verdict: str, lost: int = 0) -> dict[str, Any]:
    return {"verdict": verdict, "anomalies": {"lost": {"count": lost}}}


def test_each_cell_has_its_verdicts_and_what_was_counted(path: Path) -> None:
    sweep = load_sweep(path)
    results = {
        "none/old": Results({1: _verdict("valid"), 2: _verdict("valid")}),
        "none/new": Results({1: _verdict("valid"), 2: _verdict("unknown")}),
        "kill/old": Results({1: _verdict("invalid", 1200), 2: _verdict("invalid", 34)}),
        "kill/new": Results({}, {1: "no room on the disk"}),
    }

    assert verdict_table.header(sweep) == ["fault", "old: kafka 3.9.2", "new: kafka 4.4.0"]
    assert list(verdict_table.rows(sweep, results)) == [
        ["none", "VALID", "1 VALID, 1 UNKNOWN"],
        ["kill", "INVALID, 1,234 lost", "1 failed"],
    ]
    assert "| kill | INVALID, 1,234 lost | 1 failed |" in verdict_table.markdown(sweep, results)


def test_cells_that_were_not_run_have_a_dash(path: Path) -> None:
    sweep = load_sweep(path, only=["none/*", "kill/old"])

    assert list(verdict_table.rows(sweep, {cell.name: Results() for cell in sweep.cells})) == [
        ["none", "-", "-"],
        ["kill", "-", "-"],
    ]


def test_the_axis_must_be_there(path: Path) -> None:
    path.write_text(SWEEP.replace("columns: release", "columns: releases"))

    with pytest.raises(BadInput, match=r"columns: no axis 'releases'; .*release"):
        load_sweep(path)
