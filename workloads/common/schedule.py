"""When each send is due: open loop at a declared rate, or closed loop at the maximum."""

from __future__ import annotations

import math
import time

WARM_UP_TIMEOUT_S = 15
CLOSE_TIMEOUT_S = 45
"""Longer than the default delivery timeout, within which every send completes or fails."""

_POLL_MIN_S = 0.001
_POLL_MAX_S = 0.05


class Schedule:
    """When each send is due: at the declared rate, which all producers share.

    Args:
        rate: sends per second of all producers together, or `max`.
        producers: number of producers.
        start_ns: start of the load, CLOCK_MONOTONIC.
        first: sequence of the first send of the load.

    Attributes:
        interval_ns: time from one send of this producer to the next; None at the maximum rate.
        start_ns, first: as given.
    """

    def __init__(self, rate: int | str, producers: int, start_ns: int, first: int) -> None:
        self.interval_ns = None if isinstance(rate, str) else 1e9 * producers / rate
        self.start_ns = start_ns
        self.first = first

    def intended_ns(self, sequence: int) -> int | None:
        """Return when a send is due; None at the maximum rate."""
        if self.interval_ns is None:
            return None
        return self.start_ns + int((sequence - self.first) * self.interval_ns)

    def due(self, now_ns: int) -> float:
        """Return the sequence up to which sends are due; infinite at the maximum rate."""
        if self.interval_ns is None:
            return math.inf
        return self.first + 1 + (now_ns - self.start_ns) // self.interval_ns


def wait_s(next_ns: int | None, room: int) -> float:
    """Return how long to wait for completions before the next send is due."""
    early_s = 0.0 if next_ns is None else (next_ns - time.monotonic_ns()) / 1e9
    if early_s <= 0 and room > 0:
        return 0
    return min(max(early_s, _POLL_MIN_S), _POLL_MAX_S)
