"""Disk speed: requests are delayed according to the limits."""

from __future__ import annotations

import time

import trio

_SPIN_S = 0.0015
"""The event loop's timers have a resolution of only 1 ms. The rest of a wait blocks the thread as intended: a disk that
is flushing does not handle other requests."""


class Pace:
    """One limit, such as write bandwidth: at most `rate` units per second."""

    def __init__(self) -> None:
        self._free_at = 0.0

    def due(self, amount: int, rate: int | None) -> float:
        """Return when a request of this amount is done, in seconds on the monotonic clock."""
        if rate is None:
            return 0.0
        self._free_at = max(self._free_at, time.monotonic()) + amount / rate
        return self._free_at


async def wait_until(due: float) -> None:
    """Sleep until a time on the monotonic clock, in seconds, with a precision of about 0.1 ms."""
    left = due - time.monotonic()
    if left > _SPIN_S:
        await trio.sleep(left - _SPIN_S)
        left = due - time.monotonic()
    if left > 0:
        time.sleep(left)
