"""Sets of integers that are mostly consecutive, such as sequences that were acknowledged: as large as their gaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


class Intervals:
    """A set of integers.

    Args:
        starts, ends: its intervals, ascending, without the ends; they neither touch nor overlap.
    """

    def __init__(self, starts: Ints = _NONE, ends: Ints = _NONE) -> None:
        self.starts: Ints = starts
        self.ends: Ints = ends

    @property
    def size(self) -> int:
        """How many integers there are."""
        return int((self.ends - self.starts).sum())

    def has(self, values: Ints) -> npt.NDArray[np.bool_]:
        """Return for each value whether it is in the set."""
        if not self.starts.size:
            return np.zeros(values.size, np.bool_)
        at = np.searchsorted(self.starts, values, side="right") - 1
        inside: npt.NDArray[np.bool_] = (at >= 0) & (values < self.ends[np.maximum(at, 0)])
        return inside

    def count_below(self, values: Ints) -> Ints:
        """Return for each value how many smaller ones the intervals have."""
        if not self.starts.size:
            return np.zeros(values.size, np.int64)
        before = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        at = np.searchsorted(self.starts, values, side="left")
        inside = np.minimum(values, self.ends[np.maximum(at - 1, 0)]) - self.starts[np.maximum(at - 1, 0)]
        count: Ints = np.where(at > 0, before[np.maximum(at - 1, 0)] + inside, 0)
        return count

    def add(self, values: Ints) -> None:
        """Add values, which may be in the set."""
        fresh = values if np.all(values[1:] > values[:-1]) else np.sort(values, kind="stable")
        known = self.has(fresh)
        known[1:] |= fresh[1:] == fresh[:-1]
        fresh = fresh[~known]
        if fresh.size:
            cuts = np.flatnonzero(np.diff(fresh) != 1)
            self._join(fresh[np.append(0, cuts + 1)], fresh[np.append(cuts, fresh.size - 1)] + 1)

    def update(self, other: Intervals) -> None:
        """Add the integers of another set."""
        self._join(other.starts, other.ends)

    def minus(self, other: Intervals) -> Intervals:
        """Return what is in this set and not in another one."""
        edges = np.concatenate([self.starts, self.ends, other.starts, other.ends])
        own = np.concatenate([np.ones(self.starts.size, np.int64), np.full(self.ends.size, -1)])
        others = np.concatenate([np.ones(other.starts.size, np.int64), np.full(other.ends.size, -1)])
        order = np.argsort(edges, kind="stable")
        inside = np.cumsum(np.concatenate([own, np.zeros(others.size, np.int64)])[order])
        excluded = np.cumsum(np.concatenate([np.zeros(own.size, np.int64), others])[order])
        at = edges[order]
        kept = (inside[:-1] > 0) & (excluded[:-1] == 0) & (at[1:] > at[:-1])
        rest = Intervals()
        rest._join(at[:-1][kept], at[1:][kept])
        return rest

    def common(self, other: Intervals) -> Intervals:
        """Return the integers that both sets have."""
        return self.minus(self.minus(other))

    def within(self, first: Ints, last: Ints) -> Ints:
        """Return how many integers of the set there are from each `first` to each `last`."""
        return self.count_below(last + 1) - self.count_below(first)

    def part(self, first: int, end: int) -> Intervals:
        """Return the integers of the set from `first` on, without `end`."""
        low = int(np.searchsorted(self.ends, first, side="right"))
        high = int(np.searchsorted(self.starts, end))
        return Intervals(np.maximum(self.starts[low:high], first), np.minimum(self.ends[low:high], end))

    def first(self, count: int) -> Intervals:
        """Return the lowest integers of the set."""
        before = np.cumsum(self.ends - self.starts) - (self.ends - self.starts)
        chosen = before < count
        starts = self.starts[chosen]
        return Intervals(starts, np.minimum(self.ends[chosen], starts + count - before[chosen]))

    def values(self) -> Ints:
        """Return all integers, ascending."""
        lengths = self.ends - self.starts
        shifts: Ints = np.repeat(self.starts - (np.cumsum(lengths) - lengths), lengths)
        return shifts + np.arange(shifts.size)

    def _join(self, starts: Ints, ends: Ints) -> None:
        starts, ends = np.concatenate([self.starts, starts]), np.concatenate([self.ends, ends])
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        apart = starts[1:] > ends[:-1]
        self.starts = starts[np.append(True, apart)] if starts.size else starts
        self.ends = ends[np.append(apart, True)] if ends.size else ends
