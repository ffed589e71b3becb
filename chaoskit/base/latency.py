"""Latency histograms: sparse counts per HdrHistogram bucket, computed on arrays and merged by addition.

Microseconds, three significant digits. A percentile always comes from a merged histogram, never from other
percentiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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
_TICKS = 5

Sparse = tuple[list[int], list[int]]
"""A histogram as its buckets, ascending, and the count of each: what is cheap to make many times a second."""


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


def sparse(durations_ns: Ints) -> Sparse:
    """Return the buckets of durations, and their counts."""
    used, count = np.unique(buckets(durations_ns), return_counts=True)
    return used.tolist(), count.tolist()


def merged(bucket: Ints, count: Ints) -> HdrHistogram:
    """Return one histogram from buckets and their counts; a bucket may occur several times."""
    result = empty()
    # The library would take them one by one, in Python.
    counts = np.frombuffer(result.counts, np.int64)
    np.add.at(counts, bucket, count)
    used = np.flatnonzero(counts)
    if used.size:
        result.total_count = int(counts.sum())
        result.min_value, result.max_value = _values(used[[0, -1]])[0].tolist()
    return result


def encoded(recorded: HdrHistogram) -> str:
    """Return a histogram in HdrHistogram's own exchange format (V2, compressed, base64)."""
    content: bytes = recorded.encode()
    return content.decode("ascii")


def percentiles(recorded: HdrHistogram) -> dict[str, Any]:
    """Return count and percentiles in milliseconds; None where there are no values."""
    points = {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0, "p999_ms": 99.9, "p9999_ms": 99.99, "max_ms": 100.0}
    return {"count": int(recorded.get_total_count()), **(_at(recorded, points) or dict.fromkeys(points))}


def summary(recorded: HdrHistogram) -> dict[str, float]:
    """Return percentiles in milliseconds; empty without values."""
    return _at(recorded, {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9, "p9999_ms": 99.99, "max_ms": 100.0})


def _at(recorded: HdrHistogram, points: Mapping[str, float]) -> dict[str, float]:
    """Return the values, ms, at percentiles; empty without values."""
    return percentiles_of(*_used(recorded), points)


def percentiles_of(used: Ints, count: Ints, points: Mapping[str, float]) -> dict[str, float]:
    """Return the values, ms, at percentiles of buckets, ascending, with these counts; empty without values."""
    if not used.size:
        return {}
    running = np.cumsum(count)
    wanted = [max(int(point * running[-1] / 100 + 0.5), 1) for point in points.values()]
    lowest, size = _values(used[np.searchsorted(running, wanted)])
    return dict(zip(points, ((lowest + size - 1) / 1000).tolist(), strict=True))


def _used(recorded: HdrHistogram) -> tuple[Ints, Ints]:
    """Return the buckets that have values, and how many each has. The library visits every bucket in Python instead."""
    counts = np.frombuffer(recorded.counts, np.int64)
    used = np.flatnonzero(counts)
    return used, counts[used]


def write_histogram(recorded: HdrHistogram, path: Path) -> None:
    """Write the percentile distribution, in milliseconds, in HdrHistogram's own text format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write(path, "".join(_distribution(recorded)).encode("ascii"))


def _distribution(recorded: HdrHistogram) -> Iterator[str]:
    used, count = _used(recorded)
    total = int(count.sum())
    lowest, size = _values(used)
    yield f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}\n\n"
    if total:
        running = np.cumsum(count)
        for index, level in _levels(100.0 * running / total, _TICKS):
            line = f"{(lowest + size - 1)[index] / 1000:12.3f} {level / 100:2.12f} {running[index]:10d}"
            yield line + (f" {1 / (1 - level / 100):14.2f}\n" if level != 100 else "\n")
    middle = lowest + (size >> 1)
    mean = float(count @ middle) / total if total else 0.0
    deviation = math.sqrt(float(count @ np.square(middle - mean)) / total) if total else 0.0
    yield f"#[Mean    = {mean / 1000:12.3f}, StdDeviation   = {deviation:12.3f}]\n"
    yield f"#[Max     = {recorded.get_max_value() / 1000:12.3f}, TotalCount     = {total:12.3f}]\n"
    yield f"#[Buckets = {recorded.bucket_count:12d}, SubBuckets     = {recorded.sub_bucket_count:12d}]\n"


def _values(bucket: Ints) -> tuple[Ints, Ints]:
    """Return the lowest value of each bucket, and how many values it holds."""
    shift = np.maximum((bucket >> _HALF_BITS) - 1, 0)
    within = (bucket & (_HALF - 1)) + np.where(bucket >= 2 * _HALF, _HALF, bucket & _HALF)
    return within << shift, np.left_shift(1, shift)


def durations_ns(bucket: Ints) -> Ints:
    """Return the shortest duration of each bucket."""
    return _values(bucket)[0] * 1000


def quantiles(recorded: HdrHistogram, ticks: int) -> list[tuple[float, int]]:
    """Return percentiles with their values, us, as HdrHistogram's iteration by percentiles does; empty without values.

    Args:
        recorded: the histogram.
        ticks: number of percentiles in each half of the distance to 100 %.
    """
    used, count = _used(recorded)
    if not used.size:
        return []
    running = np.cumsum(count)
    lowest, size = _values(used)
    highest = (lowest + size - 1).tolist()
    return [(level, highest[index]) for index, level in _levels(100.0 * running / running[-1], ticks)]


def _levels(reached: npt.NDArray[np.float64], ticks: int) -> Iterator[tuple[int, float]]:
    """Yield the levels of the distribution, %, each with the first bucket that reaches it; halving towards 100 %.

    Args:
        reached: the level that each bucket reaches.
        ticks: number of levels in each half of the distance to 100 %.
    """
    index, level, last = 0, 0.0, len(reached) - 1
    while True:
        index = max(index, int(np.searchsorted(reached, level)))
        yield index, level
        if index == last:
            break
        halved = math.pow(2, math.log(100 / (100.0 - level)) / math.log(2) + 1)
        level += 100.0 / (ticks * halved)
    yield last, 100.0
