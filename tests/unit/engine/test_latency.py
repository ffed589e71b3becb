"""Histograms are told exactly as the library tells them, which takes a second for each."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaoskit.base.latency import histogram, percentiles, summary, write_histogram

POINTS = {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0, "p999_ms": 99.9, "p9999_ms": 99.99, "max_ms": 100.0}
durations = st.lists(st.integers(0, 4 * 10**12), max_size=60)


@settings(max_examples=20)
@given(durations=durations, again=st.integers(1, 3000))
def test_a_histogram_is_written_as_the_library_writes_it(
    durations: list[int], again: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    recorded = histogram(np.array(durations * again, np.int64))
    path = tmp_path_factory.mktemp("latency") / "new" / "send.hgrm"
    write_histogram(recorded, path)

    expected = io.BytesIO()
    recorded.output_percentile_distribution(expected, 1000.0)
    assert path.read_bytes() == expected.getvalue()


@given(durations=durations, again=st.integers(1, 3000))
def test_percentiles_are_those_of_the_library(durations: list[int], again: int) -> None:
    recorded = histogram(np.array(durations * again, np.int64))
    values = recorded.get_percentile_to_value_dict(list(POINTS.values())) if durations else {}
    expected = {name: values[point] / 1000 if durations else None for name, point in POINTS.items()}

    assert percentiles(recorded) == {"count": len(durations) * again, **expected}
    assert summary(recorded) == ({name: expected[name] for name in expected if name != "p90_ms"} if durations else {})


def test_a_histogram_replaces_another_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "send.hgrm"
    path.write_text("of an earlier check, and longer" * 1000)

    write_histogram(histogram(np.zeros(0, np.int64)), path)

    assert path.read_text().startswith("       Value     Percentile TotalCount 1/(1-Percentile)\n\n#[Mean")
    assert list(tmp_path.iterdir()) == [path]
