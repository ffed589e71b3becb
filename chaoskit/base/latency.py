"""Latency histograms: sparse counts per HdrHistogram bucket, computed on arrays and merged by addition.

Microseconds, three significant digits. A percentile always comes from a merged histogram, never from other
percentiles.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from chaoskit.base import durable

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_HIGHEST_US = 3_600_000_000
_DIGITS = 3
_EMPTY = np.zeros(0, np.int64)


def empty() -> HdrHistogram:
    """Return an empty histogram for durations of up to an hour."""
    return HdrHistogram(1, _HIGHEST_US, _DIGITS)


_SHAPE = empty()
_HALF_BITS, _HALF = _SHAPE.sub_bucket_half_count_magnitude, _SHAPE.sub_bucket_half_count
"""Bits and size of half a range of sub-buckets."""


def histogram(durations_ns: Ints) -> HdrHistogram:
    """Return a histogram of durations."""
    return merged(*np.unique(buckets(durations_ns), return_counts=True))


def buckets(durations_ns: Ints) -> Ints:
    """Return the HdrHistogram bucket index of each duration."""
    micros = np.clip(durations_ns // 1000, 1, _HIGHEST_US)
    bits = np.frexp((micros | (2 * _HALF - 1)).astype(np.float64))[1].astype(np.int64)  # exact below 2**53
    bucket = bits - 1 - _HALF_BITS
    index: Ints = ((bucket + 1) << _HALF_BITS) + (micros >> bucket) - _HALF
    return index


def merged(bucket: Ints, count: Ints) -> HdrHistogram:
    """Return one histogram from buckets and their counts; a bucket may occur several times."""
    result = empty()
    sums = np.bincount(bucket, weights=count).astype(np.int64) if bucket.size else _EMPTY
    for index in np.flatnonzero(sums).tolist():
        result.record_value(result.get_value_from_index(index), int(sums[index]))
    return result


def encoded(recorded: HdrHistogram) -> str:
    """Return a histogram in HdrHistogram's own exchange format (V2, compressed, base64)."""
    content: bytes = recorded.encode()
    return content.decode("ascii")


def decoded(content: str) -> HdrHistogram:
    """Return the histogram from the output of `encoded`."""
    return HdrHistogram.decode(content.encode("ascii"))


def percentiles(recorded: HdrHistogram) -> dict[str, Any]:
    """Return count and percentiles in milliseconds; None where there are no values."""
    points = {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0, "p999_ms": 99.9, "max_ms": 100.0}
    count = int(recorded.get_total_count())
    values = recorded.get_percentile_to_value_dict(list(points.values())) if count else {}
    return {"count": count, **{name: values[point] / 1000 if count else None for name, point in points.items()}}


def summary(recorded: HdrHistogram) -> dict[str, float]:
    """Return percentiles in milliseconds; empty without values."""
    if recorded.get_total_count() == 0:
        return {}
    points = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9, "max_ms": 100.0}
    values = recorded.get_percentile_to_value_dict(list(points.values()))
    return {name: values[point] / 1000 for name, point in points.items()}


def write_histogram(recorded: HdrHistogram, path: Path) -> None:
    """Write the percentile distribution, in milliseconds, in HdrHistogram's own text format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable.whole(path) as unfinished, unfinished.open("wb") as file:
        recorded.output_percentile_distribution(file, 1000.0)
