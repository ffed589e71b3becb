"""Windows around faults, ages of lost messages, units and waves, trends, configurations: by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import Piece, StoredPartition
from chaoskit.judge.timing.timing import Load, Timing
from chaoskit.scenario.plan import read_plan
from spark_analysis.configuration import configuration
from spark_analysis.impact import ages, by_kind
from spark_analysis.trends import is_regression, trends
from spark_analysis.units import MESSAGE_BYTES, TASK_BYTES, SparkTask, Unit, into_tasks, waves
from spark_analysis.windows import ImpactWindow, windows_of

S, MS = 1_000_000_000, 1_000_000


def _fault(number: int, start_s: float, effective_s: float | None, healed_s: float | None) -> Fault:
    effective_ns, healed_ns = (None if seconds is None else int(seconds * S) for seconds in (effective_s, healed_s))
    return Fault(number, "kill", int(start_s * S), effective_ns=effective_ns, healed_ns=healed_ns)


def _windows(*faults: Fault, end_s: float = 60) -> dict[tuple[int, str], tuple[float, float]]:
    return {
        (window.fault, window.phase): (window.start_ns / S, window.end_ns / S)
        for window in windows_of(faults, 0, int(end_s * S))
    }


def test_before_and_after_are_as_long_as_the_fault() -> None:
    assert _windows(_fault(0, 20, 21, 25)) == {
        (0, "before"): (15, 20),
        (0, "during"): (21, 25),
        (0, "after"): (25, 30),
    }


def test_they_last_at_least_two_seconds_and_end_with_the_load() -> None:
    assert _windows(_fault(0, 1, 1, 2), end_s=3) == {
        (0, "before"): (0, 1),
        (0, "during"): (1, 2),
        (0, "after"): (2, 3),
    }


def test_neighbours_bound_them_and_overlapping_faults_have_none() -> None:
    beside = _windows(_fault(0, 10, 10, 20), _fault(1, 23, 23, 30))
    assert beside[0, "after"] == beside[1, "before"] == (20, 23)

    overlapping = _windows(_fault(0, 10, 10, 20), _fault(1, 15, 15, 30))
    assert set(overlapping) == {(0, "before"), (0, "during"), (1, "during"), (1, "after")}


def test_a_fault_without_effect_has_no_window_and_one_never_healed_lasts_to_the_end() -> None:
    assert _windows(_fault(0, 10, None, 20)) == {}
    assert _windows(_fault(0, 10, 11, None))[0, "during"] == (11, 60)


def test_ages_count_from_the_acknowledgement_to_the_next_fault() -> None:
    faults = [Fault(0, "pause", 0, effective_ns=20 * S), Fault(1, "kill", 0, effective_ns=10 * S)]
    acked = np.array([10 * S - 500_000, 10 * S - 2 * S, 12 * S, 21 * S])

    assert ages(acked, faults) == [
        {"kind": "kill", "from_ms": 0, "to_ms": 1, "count": 1},
        {"kind": "kill", "from_ms": 1_000, "to_ms": 3_000, "count": 1},
        {"kind": "pause", "from_ms": 3_000, "to_ms": 10_000, "count": 1},
        {"kind": None, "from_ms": None, "to_ms": None, "count": 1},
    ]


def _unit(rows: int, run: int = 0) -> Unit:
    place = StoredPartition("t", 0, Piece(Path("x"), (0,), rows), None)
    return Unit(run, Path(), Timing(Load(0, 0, 0)), rows, place)


def test_small_units_share_a_task_and_the_largest_task_comes_first() -> None:
    tasks = into_tasks([_unit(10), _unit(30), _unit(900), _unit(50)], task_rows=100)

    assert [[unit.rows for unit in task.units] for task in tasks] == [[900], [50], [10, 30]]


def test_tasks_that_do_not_fit_beside_each_other_run_before_the_others() -> None:
    rows = 10_000_000
    large, small = SparkTask((_unit(rows),)), SparkTask((_unit(1000),))
    memory = 2 * (TASK_BYTES + rows * MESSAGE_BYTES)

    assert waves([large, large, small, small], memory, cores=2) == [[large, large, small, small]]
    assert waves([large, large, small, small], memory, cores=4) == [[large, large], [small, small]]
    assert waves([large, large, small], memory - 1, cores=2) == [[large], [large], [small]]
    assert waves([large], 1, cores=1) == [[large]]
    assert waves([], memory, 2) == []


STEADY = [10.0, 10.5, 9.8, 10.1, 9.9, 10.2]


@pytest.mark.parametrize(
    ("preceding", "value", "worse", "regression"),
    [
        (STEADY, 14.0, 1, True),
        (STEADY, 12.0, 1, False),  # beyond five deviations, but not 25 % worse
        (STEADY, 6.0, 1, False),  # better
        (STEADY, 6.0, -1, True),
        (STEADY, 14.0, -1, False),
        ([5.0, 20.0, 8.0, 15.0, 10.0, 30.0], 30.0, 1, False),  # it always varied like that
        (STEADY[:4], 99.0, 1, False),  # too few
        ([0.0] * 6, 1.0, 1, True),  # the first loss
        ([0.0] * 6, 0.0, 1, False),
        ([50.0] * 30 + STEADY * 4, 14.0, 1, True),  # only the last twenty count
    ],
)
def test_a_regression_is_far_from_the_median_and_much_worse(
    preceding: list[float], value: float, worse: int, regression: bool
) -> None:
    assert is_regression(preceding, value, worse) is regression


def test_trends_mark_the_run_that_got_worse() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {"scenario": "a", "run": f"a/{day}", "time": begin + timedelta(days=day), "acks_per_s": 5000.0, "lost": 0,
         "due_p99_ms": 30.0 if day == 7 else 10.0 + day % 2 / 10, "longest_unavailable_ms": 5.0, "headline": "",
         "recovered_after_heal_ms": None, "verdict": "invalid" if day in (1, 2) else "valid"}
        for day in reversed(range(9))
    ]  # fmt: skip

    marked = trends(rows)

    assert [row["run"] for row in marked] == [f"a/{day}" for day in range(9)]
    assert {row["run"]: row["regressions"] for row in marked if row["regressions"]} == {
        "a/1": ["verdict"],
        "a/7": ["due_p99_ms"],
    }


def test_a_configuration_is_one_readable_line() -> None:
    cluster = {
        "system": "pulsar",
        "version": "4.0.7",
        "hosts": 3,
        "config": {"bookie": {"journalSyncData": False}, "broker": {}},
        "persistence": {"ack_quorum": 2},
    }

    assert configuration({"cluster": cluster, "workload": {"producer": {"acks": "all"}, "rate": 9}}) == (
        "pulsar 4.0.7, bookie.journalSyncData=false, ack_quorum=2, acks=all, rate=9"
    )
    assert configuration({"name": "x", "imported": {}}) == "imported"


@pytest.mark.parametrize(
    ("cluster", "workload", "words"),
    [
        ({}, {"type": "quorum"}, "rabbitmq 4.0.5, quorum queue"),
        ({}, {"type": "classic"}, "rabbitmq 4.0.5, classic queue"),
        ({"metadata": "khepri"}, {"type": "quorum"}, "rabbitmq 4.0.5, quorum queue, metadata=khepri"),
        ({"version": "3.10.8"}, {"type": "quorum"}, "rabbitmq 3.10.8, quorum queue"),
        ({"hosts": 5}, {"type": "quorum", "rate": 50}, "rabbitmq 4.0.5, quorum queue, hosts=5, rate=50"),
        ({"hosts": 3}, {"type": "quorum", "persistent": False}, "rabbitmq 4.0.5, quorum queue, persistent=false"),
        ({}, {"type": "quorum", "duration": "9s"}, "rabbitmq 4.0.5, quorum queue"),
    ],
)
def test_configurations_differ_by_what_was_declared(
    cluster: dict[str, Any], workload: dict[str, Any], words: str
) -> None:
    declared = {"name": "x", "cluster": {"system": "rabbitmq", **cluster}, "workload": {"kind": "queue", **workload}}

    assert configuration(read_plan(declared, "x.yaml").resolved()) == words


def test_a_kind_of_fault_has_rows_for_each_system() -> None:
    """Kills of Kafka say nothing of kills of RabbitMQ."""
    windows = [ImpactWindow(0, "kill", phase, 0, S) for phase in ("before", "during")]
    runs = [SimpleNamespace(scenario={"cluster": {"system": name}}) for name in ("kafka", "rabbitmq")]
    impacts_: Any = [
        SimpleNamespace(
            run=run,
            window=window,
            bucket=np.array([1]),
            count=np.array([5]),
            acked=5,
            longest_gap_ms=0,
            recovery_ms=None,
        )
        for run in runs
        for window in windows
    ]

    assert [(row["system"], row["phase"], row["faults"]) for row in by_kind(impacts_)] == [
        ("kafka", "before", 1), ("kafka", "during", 1), ("rabbitmq", "before", 1), ("rabbitmq", "during", 1)
    ]  # fmt: skip
