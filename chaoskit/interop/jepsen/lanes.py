"""Maps clients with concurrent operations to processes with one operation at a time, as Jepsen requires."""

from __future__ import annotations

import heapq

import numpy as np

_NEVER_NS = np.iinfo(np.int64).max


def lanes(process: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
    """Return a process for each operation, such that the operations of each process do not overlap.

    A process without overlaps keeps its number. Otherwise it is split, and its additional lanes get new
    numbers. An operation that never completed occupies its lane forever.

    Args:
        process: process of each operation, in order of invocation.
        start_ns, end_ns: times of each operation; -1 if it never completed.
    """
    end_ns = np.where(end_ns < 0, _NEVER_NS, end_ns)
    order = np.argsort(process, kind="stable")
    same = process[order[1:]] == process[order[:-1]]
    overlapping = np.unique(process[order[1:]][same & (start_ns[order[1:]] < end_ns[order[:-1]])])
    result = process.copy()
    following = int(process.max(initial=0)) + 1
    for overlapping_process in overlapping.tolist():
        rows = np.flatnonzero(process == overlapping_process)
        busy: list[tuple[int, int]] = []
        lane = overlapping_process
        for row, start, end in zip(rows.tolist(), start_ns[rows].tolist(), end_ns[rows].tolist(), strict=True):
            if busy and busy[0][0] <= start:
                _, lane = heapq.heappop(busy)
            elif busy:
                lane, following = following, following + 1
            result[row] = lane
            heapq.heappush(busy, (end, lane))
    return result
