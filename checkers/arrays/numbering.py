"""Small consecutive ids for values and positions, so that tables indexed by them are plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaoskit.base.columns import NONE, Ints
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.arrays.columns import changes

_SPREAD_MAX = 4
"""Maximum ratio of ids to numbers before sorting is used instead: tables indexed by id then cost at most 16 bytes
per message, and a log with a marker after each message still counts as dense."""


class Numbering:
    """Order-preserving ids for the given numbers; negative numbers mean absent and have the id `NONE`.

    Values are usually dense within a producer, and positions within a log: the numbers between the lowest and the
    highest of a block (`number >> 40`) then simply follow those of the previous block, in O(n) time and O(blocks)
    bytes. If numbers are sparse (a producer with many partitions, positions made of ledger and entry, imported
    histories), the id is the rank among the sorted numbers: O(n log n) time, 8 bytes per number.

    Attributes:
        size: the highest id plus one.
    """

    size: int

    def __init__(self, *parts: Ints) -> None:
        parts = tuple(part[part >= 0] if part.size and part.min() < 0 else part for part in parts)
        parts = tuple(part for part in parts if part.size) or (np.zeros(1, np.int64),)
        self._sorted: Ints | None = None
        self._first_block = min(int(part.min()) for part in parts) >> PRODUCER_SHIFT
        blocks = (max(int(part.max()) for part in parts) >> PRODUCER_SHIFT) - self._first_block + 1
        count = sum(part.size for part in parts)
        if blocks <= count:
            self._span_blocks(parts, blocks)
        if blocks > count or self.size > _SPREAD_MAX * count:
            # np.unique hashes, which is 30 times slower than the vectorised sort.
            ordered = np.sort(np.concatenate(parts))
            self._sorted = ordered[changes(ordered)]
            self.size = self._sorted.size
        self._dtype: type[np.signedinteger[Any]] = np.int32 if self.size < 2**31 else np.int64

    def _span_blocks(self, parts: tuple[Ints, ...], blocks: int) -> None:
        lows = np.full(blocks, np.iinfo(np.int64).max)
        highs = np.full(blocks, NONE, np.int64)
        for part in parts:
            block = self._block(part)
            np.minimum.at(lows, block, part)
            np.maximum.at(highs, block, part)
        sizes = np.where(highs >= 0, highs - lows + 1, 0)
        self._ends = np.cumsum(sizes)
        self._shifts = self._ends - sizes - np.where(sizes > 0, lows, 0)
        self.size = int(self._ends[-1])

    def _block(self, numbers: Ints) -> Ints:
        return (numbers >> PRODUCER_SHIFT) - self._first_block

    def ids(self, numbers: Ints) -> Ints:
        """Return the ids of numbers that were passed to the constructor."""
        if numbers.size and numbers.min() < 0:
            ids: Ints = np.full(numbers.size, NONE, self._dtype)
            known = np.flatnonzero(numbers >= 0)
            ids[known] = self.ids(numbers[known])
            return ids
        if self._sorted is not None:
            return np.searchsorted(self._sorted, numbers).astype(self._dtype)
        shifts: Ints = self._shifts if self._shifts.size == 1 else self._shifts[self._block(numbers)]
        return (numbers + shifts).astype(self._dtype)

    def near(self, numbers: Ints) -> Ints:
        """Return the ids of any numbers; some id for those that were not passed to the constructor."""
        if self._sorted is not None:
            return np.minimum(np.searchsorted(self._sorted, numbers), self.size - 1).astype(self._dtype)
        block = self._block(numbers)
        if block.min(initial=0) < 0 or block.max(initial=0) >= self._shifts.size:
            block = np.clip(block, 0, self._shifts.size - 1)
        ids: Ints = numbers + self._shifts[block]
        if ids.min(initial=0) < 0 or ids.max(initial=0) >= self.size:
            ids = np.clip(ids, 0, self.size - 1)
        return ids.astype(self._dtype)

    def numbers(self, ids: Ints) -> Ints:
        """Return the numbers with these ids."""
        if self._sorted is not None:
            ranked: Ints = self._sorted[ids]
            return ranked
        shifts: Ints = self._shifts[np.searchsorted(self._ends, ids, side="right")]
        return ids - shifts
