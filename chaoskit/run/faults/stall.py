"""How long nothing has been acknowledged."""

from __future__ import annotations


class AckStall:
    """Watches the number of acknowledged sends."""

    def __init__(self) -> None:
        self._acked, self._moved_ns = -1, 0

    def lasted_ns(self, acked: int, now_ns: int) -> int:
        """Return for how long the number, which is this one now, has not changed; 0 the first time."""
        if acked != self._acked:
            self._acked, self._moved_ns = acked, now_ns
        return now_ns - self._moved_ns
