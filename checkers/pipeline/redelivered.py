"""Which outputs that came from a queue are messages of their own.

A delivery that is not marked as redelivered is of a message that was never delivered before. One that is marked may be
of the same message, or of one whose first delivery did not arrive. How many messages there are is then known only by
what the application was seen publishing, and by what was confirmed to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints
from checkers.arrays.columns import changes


class OutputMessages(NamedTuple):
    """The messages of a queue's deliveries.

    Attributes:
        own: whether each delivery counts as a message of its own.
        received: of each input, how many messages the deliveries show by themselves.
        possible: of each input, how many messages there may be.
    """

    own: Flags
    received: Ints
    possible: Ints


def told_apart(deliveries: dict[str, Ints], owner: Ints, confirmed: Ints, published: Ints) -> OutputMessages:
    """Tell messages from deliveries.

    Args:
        deliveries: of each delivery the id in it (`value`), `at_ns`, and whether it is marked as redelivered (`key`).
        owner: index of its input; `NONE`: it has none.
        confirmed, published: of each input, how many outputs were confirmed to the application, and how many it was
            seen publishing.
    """
    marked, known = deliveries["key"] == 1, owner != NONE
    order = np.lexsort((deliveries["at_ns"], marked, deliveries["value"]))
    begin = np.flatnonzero(changes(deliveries["value"][order]))
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size) - np.repeat(begin, np.diff(np.append(begin, order.size)))
    count = np.bincount(owner[known], minlength=confirmed.size)
    received = np.maximum(np.bincount(owner[known & ~marked], minlength=confirmed.size), count > 0)
    sure = np.maximum(received, np.minimum(confirmed, count))
    # Fewer than came: it was not seen publishing all of them.
    possible = np.where(published < sure, count, np.minimum(count, published))
    own = np.where(known, rank < np.append(sure, 0)[owner], ~marked | (rank == 0))
    return OutputMessages(own, received, possible)
