"""How fast a disk is: requests wait until earlier ones, at the limits' pace, are through."""

from __future__ import annotations

import time

import trio

_SPIN_S = 0.0015
"""The event loop's timers are good to 1 ms only; the rest of a wait is slept in the thread, as a disk that flushes
answers nobody else."""


class Pace:
    """One limit, such as write bandwidth: at most `rate` units a second."""

    def __init__(self) -> None:
        self._free_at = 0.0

    def due(self, amount: int, rate: int | None) -> float:
        """Return when, on the monotonic clock in seconds, a request of this amount is through."""
        if rate is None:
            return 0.0
        self._free_at = max(self._free_at, time.monotonic()) + amount / rate
        return self._free_at


async def wait_until(due: float) -> None:
    """Sleep until a time on the monotonic clock in seconds, to about 0.1 ms."""
    left = due - time.monotonic()
    if left > _SPIN_S:
        await trio.sleep(left - _SPIN_S)
        left = due - time.monotonic()
    if left > 0:
        time.sleep(left)
