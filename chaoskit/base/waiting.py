"""Waiting for something to become true, or to pass, with a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Ask again and again until the answer is true, or the time is up; return the last answer.

    It is asked once at least, and once more when the time is up.

    Args:
        condition: what is asked; what it raises is raised.
        within_s: how long.
        every_s: pause between two questions.
    """
    return _wait(condition, within_s, every_s, wanted=True)


def wait_while(condition: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Ask again and again while the answer is true; return the last answer. As `wait_until`.

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
