"""Histograms agree with HdrHistogram bucket by bucket, and with numpy to three digits."""

from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.latency import buckets, encoded, histogram, merged, percentiles

POINTS = {"p50_ms": 50, "p90_ms": 90, "p99_ms": 99, "p999_ms": 99.9, "max_ms": 100}


@given(st.lists(st.integers(0, 4 * 10**12), min_size=1, max_size=100))
def test_buckets_are_those_of_hdrhistogram(durations: list[int]) -> None:
    known = histogram(np.array(durations))
    counts = np.bincount(buckets(np.array(durations)), minlength=known.counts_len)

    assert [known.get_count_at_index(index) for index in range(known.counts_len)] == counts.tolist()


@given(st.lists(st.lists(st.integers(1_000, 10**12), max_size=50), min_size=1, max_size=6))
def test_percentiles_of_merged_parts_are_those_of_all_values(parts: list[list[int]]) -> None:
    counted = [np.unique(buckets(np.array(part, np.int64)), return_counts=True) for part in parts]
    figures = percentiles(merged(*(np.concatenate([columns[index] for columns in counted]) for index in (0, 1))))

    values = np.array([value for part in parts for value in part])
    assert figures["count"] == values.size
    for name, point in POINTS.items():
        if values.size:
            rank = max(1, int(point * values.size / 100 + 0.5)) - 1  # HdrHistogram rounds the rank
            assert figures[name] == pytest.approx(np.sort(values)[rank] / 1e6, rel=2e-3, abs=1e-3)
        else:
            assert figures[name] is None


def test_percentiles_of_many_values_are_those_of_numpy() -> None:
    values = np.random.default_rng(7).lognormal(15, 1.5, 200_000).astype(np.int64)
    figures = percentiles(merged(*np.unique(buckets(values), return_counts=True)))

    for name, point in POINTS.items():
        assert figures[name] == pytest.approx(float(np.percentile(values, point)) / 1e6, rel=3e-3)


def test_an_encoded_histogram_is_read_by_hdrhistogram_and_can_be_added() -> None:
    values = np.arange(1, 1001) * 1_000_000
    text = encoded(merged(*np.unique(buckets(values), return_counts=True)))

    read = HdrHistogram.decode(text)
    read.decode_and_add(text)

    assert read.get_total_count() == 2000
    assert read.get_value_at_percentile(50) == pytest.approx(500_000, rel=1e-3)
