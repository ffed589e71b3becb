"""Counts by series, segment and bucket: small, and mergeable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints

COUNTS = pa.schema(
    [
        pa.field("series", pa.string(), nullable=False),
        pa.field("segment", pa.int64(), nullable=False),
        pa.field("bucket", pa.int64(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
    ]
)
"""Counts by series, segment and bucket. Durations are in HDR buckets.

- `send`: acknowledged sends of the load; the segment is that of `Timing.edges` in which they were due
- `took`, `gave_up`: acknowledged ones and others, by duration; the segment is the number in `PHASES`
- `took_hit`, `took_spared`: acknowledged ones under faults of some producers, by duration: of those, and of the others
- `send_from_actual`: acknowledged ones, from the call
- `end_to_end`: first deliveries; the segment is the number in `PHASES`
- `travelled`: the same; the segment is that of `Timing.edges` in which they were due
- `late`: first deliveries of delayed messages, from when their delay had passed; the segment is that of `end_to_end`
- `undelivered`: acknowledged sends that were never delivered
- `due`, `acked`: sends by the segment of `Timing.edges` in which they were due, and were acknowledged
- `made`: messages sent; the segment is the bin of `Load` in which they were due
- `started`: the same; the segment is the bin in which they were made
- `sends`, `acks`: sends that were made, and were acknowledged, before the end of the load
- `received`: messages received, except by the auditor
- `stored`: messages of sends, of warm-up too
- `outcome`: all sends, of warm-up too; the bucket is the index in OUTCOMES
"""


def summed(tables: list[pa.Table]) -> pa.Table:
    """Return the sum of several COUNTS."""
    counts = pa.concat_tables([COUNTS.empty_table(), *tables])
    summed = counts.group_by(["series", "segment", "bucket"]).aggregate([("count", "sum")])
    return pa.table(summed.columns, schema=COUNTS)


def of_series(counts: pa.Table, series: str, segment: int | None = None) -> pa.Table:
    """Return COUNTS of one series, of all segments or of one."""
    rows = counts.filter(pc.equal(counts["series"], series))
    return rows if segment is None else rows.filter(pc.equal(rows["segment"], segment))


def total(counts: pa.Table, series: str, segment: int | None = None) -> int:
    """Return the sum of a series."""
    return pc.sum(of_series(counts, series, segment)["count"]).as_py() or 0


def single(series: str, count: int | np.signedinteger[Any]) -> pa.Table:
    """Return COUNTS of one number."""
    return counted(series, np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([count]))


def counted(series: str, segment: Ints, bucket: Ints, count: Ints | None = None) -> pa.Table:
    """Return COUNTS of one series; without `count`, each row counts as one."""
    if count is None:
        width = int(bucket.max()) + 1 if bucket.size else 1
        key = segment * width + bucket
        if key.size and int(key.max()) < 16 * key.size + 2**20:
            count = np.bincount(key)
            key = np.flatnonzero(count)
            count = count[key]
        else:
            key, count = np.unique(key, return_counts=True)
        segment, bucket = key // width, key % width
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count.size, np.int32)), pa.array([series]))
    return pa.table([names.cast(pa.string()), pa.array(segment), pa.array(bucket), pa.array(count)], schema=COUNTS)
