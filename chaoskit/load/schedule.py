"""When each send is due: open loop at a declared rate, or closed loop at the maximum."""

from __future__ import annotations

import ctypes
import math
import time

WARM_UP_TIMEOUT_S = 15
CLOSE_TIMEOUT_S = 45
"""Longer than the default delivery timeout, within which every send completes or fails."""

_NAP_MIN_S = 0.00005
"""Waiting for less would cost more than it tells."""

_PER_INTERVAL = 4
"""How often to look for completions from one send to the next, if these are close to each other."""

_POLL_MIN_S = 0.001
"""Clients can wait this long, and return at once when something completes."""

_POLL_MAX_S = 0.05
_TIMER_SLACK, _SLACK_NS = 29, 1000


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
        self.interval_ns: float | None = None if isinstance(rate, str) else 1e9 * producers / rate
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

    def wait_s(self, sequence: int, room: int) -> float:
        """Return how long to wait for completions before the next send is due.

        Args:
            sequence: sequence of the next send.
            room: how many sends may be in flight besides those that are.
        """
        next_ns = self.intended_ns(sequence)
        early_s = 0.0 if next_ns is None else (next_ns - time.monotonic_ns()) / 1e9
        if early_s <= 0:
            return 0 if room > 0 else _POLL_MIN_S
        if early_s >= _POLL_MIN_S:
            return min(early_s, _POLL_MAX_S)
        assert self.interval_ns
        return max(_NAP_MIN_S, min(early_s, self.interval_ns / 1e9 / _PER_INTERVAL))


def wake_on_time() -> None:
    """Let this thread sleep as long as it asks for; Linux adds 50 us otherwise (prctl(2), PR_SET_TIMERSLACK)."""
    ctypes.CDLL(None).prctl(_TIMER_SLACK, _SLACK_NS, 0, 0, 0)
