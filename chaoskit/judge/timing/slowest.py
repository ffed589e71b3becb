"""The part of a load that made its p99: when the slowest hundredth of its messages was due."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.latency import Ints
from chaoskit.judge.timing.bins import placed
from chaoskit.judge.timing.timing import Timing

_HUNDREDTH = 0.01
_MOST = 0.8
"""A stretch made the p99 if so large a part of the slowest hundredth was due in it."""

_SHORT = 0.25
"""A stretch is told if it is at most so large a part of the load."""

_LEAST = 1000
"""With fewer messages a hundredth of them says nothing."""


def slowest(counts: pa.Table, series: str, timing: Timing) -> dict[str, Any] | None:
    """Return the shortest stretch of the load in which most of the slowest hundredth was due; None if there is none.

    Keys: `from_ms` and `to_ms` since the start of the run, `share` of the slowest hundredth, and `faults`, the numbers
    of those that held then.

    Args:
        counts: COUNTS of the run.
        series: `send` or `travelled`.
        timing: what they were measured with.
    """
    at, bucket, count = placed(counts, series, timing)
    if count.sum() < _LEAST:
        return None
    slow = bucket >= _lowest_of_slow(bucket, count)
    grid = timing.load.grid
    due = np.bincount(at[slow], weights=count[slow], minlength=grid.size - 1)
    first, last = _shortest(due, grid)
    begin_ns, end_ns = int(grid[first]), int(grid[last + 1])
    if end_ns - begin_ns > _SHORT * (timing.load.end_ns - timing.load.begin_ns):
        return None
    return {
        "from_ms": round(begin_ns / 1e6, 1),
        "to_ms": round(end_ns / 1e6, 1),
        "share": round(float(due[first : last + 1].sum() / due.sum()), 3),
        "faults": [
            number
            for number, fault in enumerate(timing.faults)
            if fault.start_ns < end_ns and (fault.healed_ns is None or fault.healed_ns > begin_ns)
        ],
    }


def _lowest_of_slow(bucket: Ints, count: Ints) -> int:
    """Return the lowest bucket of the slowest hundredth."""
    order = np.argsort(-bucket, kind="stable")
    reached = np.searchsorted(np.cumsum(count[order]), _HUNDREDTH * count.sum())
    return int(bucket[order][reached])


def _shortest(due: Any, edges: Ints) -> tuple[int, int]:
    """Return the first and the last bin of the shortest stretch with most of what was due."""
    running = np.concatenate([[0.0], np.cumsum(due)])
    # For each first bin the end of the stretch in which there is enough; none for those that begin too late.
    last = np.searchsorted(running, running[:-1] + _MOST * running[-1])
    first = np.flatnonzero(last <= due.size)
    best = int(np.argmin(edges[last[first]] - edges[first]))
    return int(first[best]), int(last[first][best]) - 1
