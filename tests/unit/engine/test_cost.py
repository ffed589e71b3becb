"""What durability costs: settings as rows, cost without a fault, and what is lost under each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.scenario.files import find_sweep
from chaoskit.search import cost
from chaoskit.search.sweep import Results, load_sweep

SWEEP = """
name: costs
base:
  cluster: {system: kafka, hosts: 3}
  workload: {kind: log, duration: 5s}
axes:
  fault:
    none: {}
    kill: {faults: [{at: 2s, inject: kill, on: leader, for: 1s}]}
    power: {faults: [{at: 2s, inject: power-cut, on: all, for: 1s}]}
  flush:
    os: {}
    each: {cluster: {topic: {flush.messages: 1}}}
seeds: 2
cost_across: fault
"""


def _verdict(lost: int = 0, acked: int = 100, p99: float = 5.0, **more: Any) -> dict[str, Any]:
    return {
        "verdict": "valid",
        "counts": {"acked": acked},
        "rates": {"acks_per_s": 1000.4},
        "latency": {"send": {"p50_ms": 1.0, "p99_ms": p99, "p999_ms": 9.0, "p9999_ms": 12.25}},
        "anomalies": {"lost": {"count": lost, "allowed": True, "explained": []}},
        "audit": {"complete": True},
        "faults": [],
        **more,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "costs.yaml"
    file.write_text(SWEEP)
    return file


def test_settings_are_rows_and_faults_are_columns(path: Path) -> None:
    sweep = load_sweep(path)
    results = {
        "none/os": Results({1: _verdict(p99=4.0), 2: _verdict(p99=6.0)}),
        "kill/os": Results({1: _verdict(), 2: _verdict(audit={"complete": False})}),
        "power/os": Results({1: _verdict(7), 2: _verdict(8)}),
        "none/each": Results(),
        "kill/each": Results({1: _verdict(faults=[{"effective": False}])}),
        "power/each": Results({1: _verdict(3, verdict="invalid")}),
    }

    assert cost.header(sweep, results) == [
        "flush", "acks/s", "p50 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "lost: kill", "lost: power",
    ]  # fmt: skip
    assert list(cost.rows(sweep, results)) == [
        ["os", "1,000", "1.0", "5.0", "9.0", "12.2", "0 of 200 ?", "15 of 200"],
        ["each", "-", "-", "-", "-", "-", "0 of 100 ?", "3 of 100 (not as expected)"],
    ]


def test_a_run_without_faults_whose_disks_were_recorded_tells_the_exposure(path: Path) -> None:
    path.write_text(
        SWEEP.replace("  flush:", "    recorded: {cluster: {disk: {kind: programmable, record: true}}}\n  flush:")
    )
    sweep = load_sweep(path)
    lag = {"p50": -1.5, "p99": 2.25, "max": 3.0, "never": 0}
    exposure = {"acked": 5, "lag_ms": {"2": lag}, "loss_window": {"all": {"median": 1200, "max": 3000}}, "doubts": []}
    never = {**exposure, "lag_ms": {"2": lag | {"p99": None}}}
    results = {cell.name: Results() for cell in sweep.cells}
    results["none/os"] = Results({1: _verdict()})
    results["recorded/os"] = Results({1: _verdict(exposure=exposure), 2: _verdict(exposure=never)})
    results["kill/each"] = Results({1: _verdict(exposure=exposure)})
    results["recorded/each"] = Results({1: _verdict(exposure={"doubts": ["not recorded"]})})

    titles = cost.header(sweep, results)
    rows = list(cost.rows(sweep, results))

    assert titles[6:] == ["2nd copy, p50 / p99 ms", "cut of all: median / most", "lost: kill", "lost: power"]
    assert [row[6:8] for row in rows] == [["-1.5 / never", "1,200 / 3,000"], ["-", "-"]]


def test_the_axis_must_be_there(path: Path) -> None:
    path.write_text(SWEEP.replace("cost_across: fault", "cost_across: faults"))

    with pytest.raises(BadInput, match=r"cost_across: no axis 'faults'; .*fault"):
        load_sweep(path)


@pytest.mark.parametrize("system", ["kafka", "pulsar"])
def test_ready_made_ones(system: str) -> None:
    sweep = load_sweep(find_sweep(f"sweeps/cost-{system}"))

    results = {cell.name: Results() for cell in sweep.cells}
    assert len(sweep.cells) == 30
    assert len(cost.header(sweep, results)) == 2 + 5 + 3
    rows = list(cost.rows(sweep, results))
    assert [row[0] for row in rows] == ["1", "1", "6", "6", "16", "16"]
