"""When the messages of a route were sent and acknowledged, and where: a row for some consecutive ones.

What is sent within a moment and acknowledged within a moment makes one block, so its times tell those of each of its
messages to a fraction of a second, however few there are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chaoskit.history.format.intervals import Ints

MOMENT_NS = 250_000_000

LOW, HIGH, SENT_FIRST, SENT_LAST, DONE_FIRST, DONE_LAST, LOWEST, HIGHEST, ACKED = range(9)
"""Columns of blocks: the first and the last place; when the first and the last message was sent, and completed; the
lowest and the highest position, negative if one is unknown; whether they were acknowledged (1, else 0)."""

WIDTH = 9


def none() -> Ints:
    """Return no blocks."""
    return np.zeros((0, WIDTH), np.int64)


def blocks(places: Ints, route: Ints, times: tuple[Ints, Ints], position: Ints, since_ns: int, *, acked: bool) -> Ints:
    """Return the blocks of some messages.

    Args:
        places: their places.
        route: a number of each message's producer and route.
        times: when each was sent, and completed.
        position: the position in its acknowledgement.
        since_ns: when the moments begin.
        acked: whether they were acknowledged.
    """
    if not places.size:
        return none()
    order = np.argsort(places, kind="stable")
    places, position, (sent_ns, done_ns) = places[order], position[order], (times_ns[order] for times_ns in times)
    keys = (route[order], (sent_ns - since_ns) // MOMENT_NS, (done_ns - since_ns) // MOMENT_NS)
    starts = np.flatnonzero(np.logical_or.reduce([np.diff(key, prepend=key[0] - 1) != 0 for key in keys]))

    def ends(values: Ints) -> list[Ints]:
        return [np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)]

    lowest, highest = ends(position)
    columns = [*ends(places), *ends(sent_ns), *ends(done_ns), lowest, np.where(lowest < 0, -1, highest)]
    return np.stack([*columns, np.full(starts.size, int(acked))], 1).astype(np.int64)


def disjoint(block_rows: Ints) -> Ints:
    """Return blocks of one kind in order of place; those that overlap are one."""
    block_rows = block_rows[np.argsort(block_rows[:, LOW], kind="stable")]
    if not len(block_rows):
        return block_rows
    reach = np.maximum.accumulate(block_rows[:, HIGH])
    starts = np.flatnonzero(np.append(True, block_rows[1:, LOW] > reach[:-1]))
    least, most = (reduce.reduceat(block_rows, starts, axis=0) for reduce in (np.minimum, np.maximum))
    whole: npt.NDArray[np.int64] = np.where(
        np.isin(np.arange(WIDTH), (LOW, SENT_FIRST, DONE_FIRST, LOWEST)), least, most
    )
    whole[:, HIGHEST] = np.where(whole[:, LOWEST] < 0, -1, whole[:, HIGHEST])
    return whole


def of_places(block_rows: Ints, places: Ints) -> Ints:
    """Return the row of the block of each place among disjoint blocks; -1 if there is none."""
    at = np.searchsorted(block_rows[:, LOW], places, side="right") - 1
    inside = (
        (at >= 0) & (places <= block_rows[np.maximum(at, 0), HIGH])
        if len(block_rows)
        else np.zeros(places.size, np.bool_)
    )
    return np.where(inside, at, -1)
