"""Latency histograms as sparse counts of HdrHistogram's own buckets: computed in arrays, merged by adding.

Microseconds, three significant digits, as `chaoskit.judge.metrics.histogram`. A percentile always comes
from a merged histogram, never from other percentiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from chaoskit.judge.metrics import histogram

Ints = npt.NDArray[np.int64]

_EMPTY = np.zeros(0, np.int64)


def _layout() -> tuple[int, int, int]:
    """Return the bits and the size of half a sub-bucket range, and the highest value, of the histograms."""
    shape = histogram(_EMPTY)
    return shape.sub_bucket_half_count_magnitude, shape.sub_bucket_half_count, shape.highest_trackable_value


_HALF_BITS, _HALF, _HIGHEST_US = _layout()


def buckets(durations_ns: Ints) -> Ints:
    """Return for each duration the index of its bucket in an HdrHistogram."""
    micros = np.clip(durations_ns // 1000, 1, _HIGHEST_US)
    bits = np.frexp((micros | (2 * _HALF - 1)).astype(np.float64))[1].astype(np.int64)  # exact below 2**53
    bucket = bits - 1 - _HALF_BITS
    return ((bucket + 1) << _HALF_BITS) + (micros >> bucket) - _HALF


def merged(bucket: Ints, count: Ints) -> HdrHistogram:
    """Return buckets and their counts as one histogram; a bucket may come several times."""
    result = histogram(_EMPTY)
    sums = np.bincount(bucket, weights=count).astype(np.int64) if bucket.size else _EMPTY
    for index in np.flatnonzero(sums).tolist():
        result.record_value(result.get_value_from_index(index), int(sums[index]))
    return result


def encoded(recorded: HdrHistogram) -> str:
    """Return a histogram in HdrHistogram's own exchange format (V2, compressed, base64)."""
    content: bytes = recorded.encode()
    return content.decode("ascii")


def percentiles(recorded: HdrHistogram) -> dict[str, Any]:
    """Return count and percentiles in milliseconds; None where there are no values."""
    points = {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0, "p999_ms": 99.9, "max_ms": 100.0}
    count = int(recorded.get_total_count())
    values = recorded.get_percentile_to_value_dict(list(points.values())) if count else {}
    return {"count": count, **{name: values[point] / 1000 if count else None for name, point in points.items()}}
