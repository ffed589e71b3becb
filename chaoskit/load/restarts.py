"""When a client is abandoned and replaced by a new one."""

from __future__ import annotations

import time


class Restarts:
    """Tracks when the next restart is due.

    Args:
        every_ns: interval between restarts; None for no restarts.
        later_ns: additional delay of the first restart.
    """

    def __init__(self, every_ns: int | None, later_ns: int = 0) -> None:
        self._every_ns = every_ns
        self._last_ns = time.monotonic_ns() + later_ns

    def due(self) -> bool:
        """Return whether a restart is due; if so, it counts as done."""
        now = time.monotonic_ns()
        if self._every_ns is None or now - self._last_ns < self._every_ns:
            return False
        self._last_ns = now
        return True

    def end(self) -> None:
        """Disable further restarts."""
        self._every_ns = None
