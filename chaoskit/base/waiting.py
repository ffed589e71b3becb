"""Waits for a condition to become true, or false, with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Poll a condition until it is true or the time is up; return its last value.

    It is evaluated at least once, and a last time when the time is up.

    Args:
        condition: the condition; its exceptions propagate.
        within_s: time limit.
        every_s: pause between two evaluations.
    """
    return _wait(condition, within_s, every_s, wanted=True)


def wait_while(condition: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Poll a condition while it is true; return its last value. Otherwise like `wait_until`.

    >>> wait_while(lambda: "", 1)
    ''
    """
    return _wait(condition, within_s, every_s, wanted=False)


def _wait(condition: Callable[[], T], within_s: float, every_s: float, *, wanted: bool) -> T:
    deadline = time.monotonic() + within_s
    while bool(answer := condition()) is not wanted:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            break
        time.sleep(min(every_s, left_s))
    return answer
