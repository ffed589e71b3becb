"""When a client is given up for a new one."""

from __future__ import annotations

import time


class Restarts:
    """Says when the next restart is due.

    Args:
        every_ns: time between two; None: never.
        later_ns: how much longer the first one waits.
    """

    def __init__(self, every_ns: int | None, later_ns: int = 0) -> None:
        self._every_ns = every_ns
        self._last_ns = time.monotonic_ns() + later_ns

    def due(self) -> bool:
        """Return whether one is due; it counts as done then."""
        now = time.monotonic_ns()
        if self._every_ns is None or now - self._last_ns < self._every_ns:
            return False
        self._last_ns = now
        return True

    def end(self) -> None:
        """No more of them."""
        self._every_ns = None
