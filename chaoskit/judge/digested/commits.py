"""Whether committed positions of groups went back, as far as digests tell: within a session of a member, and from where
one had come before another one began."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from chaoskit.history.digesting import commits
from chaoskit.history.digesting.digest import Digest

_FIRST = commits.WIDTH
"""Column of the first position of a session; the highest number if its member sought positions, and may go back."""


def commits_back(digests: Sequence[Digest]) -> int:
    """Return how many commits, at least, were below a position that their group had committed before."""
    rows: dict[tuple[str, int, str], list[list[int]]] = defaultdict(list)
    for digest in digests:
        for row in digest.commits.tolist():
            topic, group = (str(digest.names[row[column] - 1]) for column in (commits.NAME, commits.GROUP))
            first = row[commits.FIRST] if not digest.counted.get("sought", 0) else np.iinfo(np.int64).max
            rows[topic, row[commits.PARTITION], group].append([*row, first])
    count = sum(digest.counted.get("regressed", 0) for digest in digests)
    for several in rows.values():
        own = np.array(several, np.int64)
        order = np.argsort(own[:, commits.REACHED], kind="stable")
        highest = np.append(np.int64(-1), np.maximum.accumulate(own[order, commits.HIGHEST]))
        before = np.searchsorted(own[order, commits.REACHED], own[:, commits.STARTED])
        count += int(np.count_nonzero(highest[before] > own[:, _FIRST]))
    return count
