"""Compares the clock of another machine with one of this machine's.

The other one's answer was given between question and reply, so half of the time that this took bounds the error
(Cristian, "Probabilistic clock synchronization", 1989). Of several questions the one that was answered soonest counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Offset(NamedTuple):
    """What a comparison found.

    Attributes:
        at_ns: when, by the clock here.
        ahead_ns: by how much the other clock was ahead.
        error_ns: by how much that may be wrong, in both directions.
    """

    at_ns: int
    ahead_ns: int
    error_ns: int


def compared(ask: Callable[[], int], now_ns: Callable[[], int], questions: int) -> Offset:
    """Return by how much another clock is ahead.

    Args:
        ask: returns what it shows, ns; its exceptions propagate.
        now_ns: the clock here.
        questions: how often to ask.

    >>> compared(lambda: 1000, iter([90, 110, 290, 300]).__next__, 2)
    Offset(at_ns=295, ahead_ns=705, error_ns=5)
    """
    return min((_asked(ask, now_ns) for _ in range(questions)), key=lambda offset: offset.error_ns)


def _asked(ask: Callable[[], int], now_ns: Callable[[], int]) -> Offset:
    before_ns = now_ns()
    theirs_ns = ask()
    error_ns = (now_ns() - before_ns + 1) // 2
    return Offset(before_ns + error_ns, theirs_ns - before_ns - error_ns, error_ns)
