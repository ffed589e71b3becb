"""Whether positions are in the order of time, as far as digests tell: those of blocks, and those that groups committed
within a session of a member."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from chaoskit.base.realtime import below_earlier
from chaoskit.history.digesting import blocks, commits
from chaoskit.history.digesting.digest import Digest
from chaoskit.history.format.intervals import Ints


def blocks_back(block_rows: Ints, routes: Ints) -> int:
    """Return how many blocks have a lower position than one of their route that was acknowledged before they were sent.

    Args:
        block_rows: blocks of acknowledged messages that are in the log; see `chaoskit.history.digesting.blocks`.
        routes: the route of each.
    """
    count = 0
    for route in np.unique(routes).tolist():
        own = block_rows[(routes == route) & (block_rows[:, blocks.LOWEST] >= 0)]
        sent, lowest, done, highest = own[:, [blocks.SENT_FIRST, blocks.LOWEST, blocks.DONE_LAST, blocks.HIGHEST]].T
        count += below_earlier(sent, lowest, done, highest)[0].size
    return count


def commits_back(digests: Sequence[Digest]) -> int:
    """Return how many commits, at least, were below a position that their group had committed before."""
    rows: dict[tuple[str, int, str], list[list[int]]] = defaultdict(list)
    for digest in digests:
        for row in digest.commits.tolist():
            topic, group = (str(digest.names[row[column] - 1]) for column in (commits.NAME, commits.GROUP))
            rows[topic, row[commits.PARTITION], group].append([*row, digest.counted.get("sought", 0)])
    count = sum(digest.counted.get("regressed", 0) for digest in digests)
    for several in rows.values():
        started, first, reached, highest, sought = np.array(several, np.int64)[:, commits.STARTED :].T
        back, _ = below_earlier(started, first, reached, highest)
        count += int(np.count_nonzero(sought[back] == 0))  # whose member sought positions may go back
    return count
