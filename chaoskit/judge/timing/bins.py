"""What was counted in each bin of the load."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.latency import Ints
from chaoskit.judge.timing.counts import of_series
from chaoskit.judge.timing.timing import Timing


def placed(counts: pa.Table, series: str, timing: Timing) -> tuple[Ints, Ints, Ints]:
    """Return of a series the bin of `Load.grid`, the bucket and the count of each row that lies in the load.

    Args:
        counts: COUNTS of the run.
        series: one whose segments are those of `Timing.edges`; each lies in one bin, or outside of the load.
        timing: what they were measured with.
    """
    rows, grid, edges = of_series(counts, series), timing.load.grid, timing.edges
    segment, bucket, count = (rows[name].to_numpy() for name in ("segment", "bucket", "count"))
    inside = (segment >= 1) & (segment <= edges.size)
    at = np.searchsorted(grid, edges[segment[inside] - 1], side="right") - 1
    good = (at >= 0) & (at < grid.size - 1)
    return at[good], bucket[inside][good], count[inside][good]
