"""Positions that are not in the order of time: of operations, or of moments in which there were several."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.signedinteger]


def below_earlier(start_ns: Ints, position: Ints, end_ns: Ints, highest: Ints) -> tuple[Ints, Ints]:
    """Return what has a lower position than something that had ended before it began, and of what had, the highest.

    Args:
        start_ns, position: when each began, at the earliest, and its position, at the lowest.
        end_ns, highest: when each of the others had ended, at the latest, and its position, at the highest.

    Returns:
        Rows of the former, ascending, and for each a row of the latter.
    """
    ended = np.argsort(end_ns, kind="stable")
    reached = np.maximum.accumulate(highest[ended])
    above = np.append(np.int64(-1), reached)[np.searchsorted(end_ns[ended], start_ns)]
    below = np.flatnonzero(above > position)
    return below, ended[np.searchsorted(reached, above[below])]
