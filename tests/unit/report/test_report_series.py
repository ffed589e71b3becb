"""Binned series against plain numpy."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.store import read_json
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.history.reading.reader import History
from chaoskit.judge.timing.counting import OperationColumns
from chaoskit.judge.timing.timing import Timing, faults_of, load_of
from chaoskit.report.figures.series import BINS_MAX, Axis, Percentiles, _operations, anomalies_of, series_of

S = 1_000_000_000


@given(st.integers(0, 10**13), st.integers(1, 10**13))
def test_an_axis_holds_both_ends_in_few_round_bins(start_ns: int, length_ns: int) -> None:
    axis = Axis.over(start_ns, start_ns + length_ns)

    assert 1 <= axis.count <= BINS_MAX
    assert axis.start_ns <= start_ns
    assert start_ns + length_ns < axis.start_ns + axis.count * axis.bin_ns
    assert str(axis.bin_ns).rstrip("0") in ("1", "2", "5")


@given(st.lists(st.integers(1_000, 10**11), min_size=1, max_size=300))
def test_percentiles_of_a_bin_are_within_two_percent(durations: list[int]) -> None:
    axis = Axis(0, S, 3)
    counted = Percentiles(axis)
    counted.add(np.full(len(durations), S), np.array(durations))

    (row,) = counted.rows()

    assert (row["t"], row["n"]) == (1.0, len(durations))
    for name, point in (("p50", 50), ("p99", 99), ("max", 100)):
        exact = float(np.percentile(durations, point, method="inverted_cdf")) / 1e6
        assert row[name] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(("bin_ns", "bins", "parts"), [(S, [0, 3, 7], [0, 0, 1]), (S // 10, [0, 20, 41], [0, 0, 1])])
def test_a_line_is_interrupted_where_nothing_was_measured(bin_ns: int, bins: list[int], parts: list[int]) -> None:
    counted = Percentiles(Axis(0, bin_ns, 60))
    counted.add(np.array(bins) * bin_ns, np.full(len(bins), 1_000))

    assert [row["part"] for row in counted.rows()] == parts


def test_series_agree_with_the_verdict(judged: Path) -> None:
    verdict = read_json(judged / "verdict.json")
    history = History.open(judged)
    series = series_of(history, Timing(load_of(judged), faults_of(history.recorded_faults)))

    assert sum(row["n"] for row in series.send) == verdict["counts"]["acked"]
    assert 0 < sum(row["n"] for row in series.end_to_end) <= verdict["counts"]["received"]
    seconds = series.axis.bin_ns / 1e9
    assert sum(row["acked"] for row in series.throughput) * seconds == pytest.approx(
        verdict["counts"]["acked"], rel=0.01
    )
    assert max(row["max"] for row in series.send) == pytest.approx(verdict["latency"]["send"]["max_ms"], rel=0.02)
    worst, availability = series.unavailable[0], verdict["availability"]
    assert (worst["to"] - worst["from"]) * 1000 == pytest.approx(availability["longest_unavailable_ms"], abs=2)
    assert worst["partition"] == availability["partitions"][0]["partition"]


def test_anomalies_are_counted_by_bin_and_name() -> None:
    rows = [{"anomaly": "lost", "at_ns": at} for at in (0, 1, S, 99 * S, None)] + [{"anomaly": "ghost", "at_ns": S}]
    columns = [pa.array([row.get(name) for row in rows], FINDINGS.field(name).type) if name in ("anomaly", "at_ns")
               else pa.nulls(len(rows), FINDINGS.field(name).type) for name in FINDINGS.names]  # fmt: skip
    findings = pa.table(columns, names=FINDINGS.names)
    assert pc.count_distinct(findings["anomaly"].cast(pa.string())).as_py() == 2

    assert anomalies_of(findings, Axis(0, S, 10)) == [
        {"name": "ghost", "t": 1.0, "n": 1},
        {"name": "lost", "t": 0.0, "n": 2},
        {"name": "lost", "t": 1.0, "n": 1},
        {"name": "lost", "t": 9.0, "n": 1},
    ]


def test_operations_are_read_group_by_group(tmp_path: Path) -> None:
    count = 1_000_000
    number = np.arange(count)
    clients = pa.array([f"producer-{client}" for client in (2, 1, 0)] + ["auditor"])
    columns = {
        "op": number,
        "process": np.zeros(count, np.int32),
        "client": pa.DictionaryArray.from_arrays(pa.array(number // 250_000), clients).cast(pa.string()),
        "f": pa.array(["send"] * count),
        "start_ns": number * 7,
        "end_ns": pa.array(number * 9, mask=number % 5 == 0),
        "outcome": pa.array(["ok", "info"]).take(pa.array(number % 2)),
    }
    table = pa.table(columns)
    path = tmp_path / "operations.parquet"
    pq.write_table(table, path, row_group_size=50_000)
    expected = OperationColumns.of(table)
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        operations = _operations(path)
        peak = tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)

    for column in fields(OperationColumns):
        assert np.array_equal(getattr(operations, column.name), getattr(expected, column.name))
    assert peak < 45 * count
