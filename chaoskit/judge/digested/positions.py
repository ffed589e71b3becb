"""At which positions acknowledged messages of a digest may be, as far as its blocks tell.

Positions are known for blocks; within a producer they are in the order of its messages, unless acknowledgements showed
something else. So what comes after the first message of a producer that is left is not below the first position that
the log has. If every position from that one on was read, what comes before can only be below, unless messages came to
stand at other positions than those of their acknowledgements.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chaoskit.history.digesting import blocks
from chaoskit.history.digesting.routes import Routes
from chaoskit.history.format.intervals import Intervals, Ints
from chaoskit.judge.digested.samples import UNKNOWN, Range


class BlockPositions:
    """At which positions messages may be.

    Args:
        routes: numbers of producers and routes.
        block_rows: blocks of acknowledged messages.
        acked, kept: messages that were acknowledged, and that the final read has.
        ordered: whether positions were acknowledged in the order of each producer's messages.
    """

    def __init__(self, routes: Routes, block_rows: Ints, *, acked: Intervals, kept: Intervals, ordered: bool) -> None:
        self._routes = routes
        self._blocks = block_rows
        self._acked = acked
        self._ordered = ordered
        low, end = block_rows[:, blocks.LOW], block_rows[:, blocks.HIGH] + 1
        self._cut = np.minimum(np.maximum(low, self._first_left(kept)), end)

    def of_missing(self, missing: Intervals, route: int, low: int, *, dense: bool) -> Iterator[tuple[Intervals, Range]]:
        """Yield what is missing on a route in parts, each with its positions.

        Args:
            missing: messages of all routes.
            route: the route.
            low: the first position that its log has.
            dense: whether the final read found a message at every position from `low` on.
        """
        if not missing.size:
            return
        own = self._of_route(route)
        lows, highs = self._blocks[own, blocks.LOW], self._blocks[own, blocks.HIGH]
        gapless = dense and not self._moved(own, low)
        for row in own[missing.within(lows, highs) > 0].tolist():
            block, cut = self._blocks[row], int(self._cut[row])
            for part, before in (
                (missing.part(int(block[blocks.LOW]), cut), True),
                (missing.part(cut, int(block[blocks.HIGH]) + 1), False),
            ):
                if part.size:
                    yield part, self._range(block, low, before=before, gapless=gapless)

    def _of_route(self, route: int) -> Ints:
        if not len(self._blocks):
            return np.zeros(0, np.int64)
        return np.flatnonzero(self._routes.of(self._routes.values(self._blocks[:, blocks.LOW])) == route)

    def _range(self, block: Ints, low: int, *, before: bool, gapless: bool) -> Range:
        """Return where missing messages of a block may be.

        Args:
            block: the block.
            low: the first position that the log has.
            before: whether they come before the first message of their producer and route that is left.
            gapless: whether every position from `low` on was read, and no message is known to have moved.
        """
        lowest, highest = int(block[blocks.LOWEST]), int(block[blocks.HIGHEST])
        if lowest < 0:
            return UNKNOWN
        if self._ordered and low > 0:
            if not before:
                lowest = min(max(lowest, low), highest)
            elif gapless:
                highest = max(min(highest, low - 1), lowest)
        return lowest, highest

    def _moved(self, own: Ints, low: int) -> bool:
        """Return whether some messages cannot be where their acknowledgements put them.

        Those before the first one that is left would have been below `low`, all others not. Of a block with the
        positions from `lowest` to `highest`, at most `low - lowest` messages can have been below `low`, and at most
        `highest + 1 - low` not below.
        """
        own = own[self._blocks[own, blocks.LOWEST] >= 0]
        block_rows, cut = self._blocks[own], self._cut[own]
        before = self._acked.within(block_rows[:, blocks.LOW], cut - 1)
        after = self._acked.within(cut, block_rows[:, blocks.HIGH])
        first, end = block_rows[:, blocks.LOWEST], block_rows[:, blocks.HIGHEST] + 1
        below, above = np.clip(low - first, 0, end - first), np.clip(end - low, 0, end - first)
        return bool(np.any((before > below) | (after > above)))

    def _first_left(self, kept: Intervals) -> Ints:
        """Return the first place of each block's producer and route that the final read has; a high one if none."""
        number = self._routes.numbers(self._routes.values(self._blocks[:, blocks.LOW]))
        starts = self._routes.places(self._routes.first(number))
        at = np.searchsorted(kept.ends, starts, side="right")
        none = np.iinfo(np.int64).max
        first = np.append(kept.starts, none)[np.minimum(at, kept.starts.size)]
        first = np.maximum(first, starts)
        same = first != none
        same[same] = self._routes.numbers(self._routes.values(first[same])) == number[same]
        return np.where(same, first, none)
