"""Gives the messages of clients that nobody knows values by which checkers may compare them.

The value of a message tells its producer and its place in the order of that producer's sends. Of clients of others, it
is only known which sends were over when another one began. So a *lane* stands for a producer: it takes a send only
once its last one has completed, and none after one whose outcome nobody knows, since that may still take effect.
"""

from __future__ import annotations

from itertools import count

from chaoskit.model.message import PRODUCER_SHIFT

_UNSENT = 0
"""The number of the producer of messages that were received, and never sent."""


class Lanes:
    """The lanes of a live cluster; its caller sees to it that one thread at a time uses them."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._numbers = count(_UNSENT + 1)
        self._sequences: dict[int, int] = {}

    def take(self) -> int:
        """Return a lane that is free, which now is taken."""
        return self._free.pop() if self._free else next(self._numbers)

    def value(self, lane: int = _UNSENT) -> int:
        """Return the value of the next message of a lane, or of one that was never sent."""
        sequence = self._sequences[lane] = self._sequences.get(lane, -1) + 1
        return lane << PRODUCER_SHIFT | sequence

    def release(self, lane: int) -> None:
        """Let a lane whose send completed take another one."""
        self._free.append(lane)
