"""The load is held open for a while for faults that are due: one that takes effect when it is over shows nothing."""

from __future__ import annotations

import threading
import time

from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import LoadHeld, Watcher

_WAITING_NS = 30 * SECOND
"""How long for a fault that waits for its turn."""

_UNDER_WAY_NS = 120 * SECOND
"""How long for one that has begun: it takes effect in steps, such as a rolling restart."""


class Due:
    """The faults of a run that are due, and have neither taken effect nor failed to; for several threads."""

    def __init__(self) -> None:
        self._kinds: dict[int, str] = {}
        self._begun: set[int] = set()
        self._lock = threading.Lock()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Their kinds."""
        with self._lock:
            return tuple(self._kinds.values())

    @property
    def under_way(self) -> bool:
        """Whether one of them has begun."""
        with self._lock:
            return bool(self._begun)

    def add(self, number: int, kind: str) -> None:
        """Note that a fault is due."""
        with self._lock:
            self._kinds[number] = kind

    def begin(self, number: int) -> None:
        """Note that it has begun."""
        with self._lock:
            self._begun.add(number)

    def remove(self, number: int) -> None:
        """Note that it took effect, or never will."""
        with self._lock:
            self._kinds.pop(number, None)
            self._begun.discard(number)


class Held:
    """Tells when a load is over.

    Args:
        due: the faults that are due.
        watcher: notified once if the load is held open.

    Attributes:
        lasted_ns: for how long it was held open.
    """

    def __init__(self, due: Due, watcher: Watcher) -> None:
        self._due = due
        self._watcher = watcher
        self.lasted_ns: int = 0

    def goes_on(self, due_ns: int) -> bool:
        """Return whether the load goes on, given when it was to end (CLOCK_MONOTONIC, ns)."""
        late_ns = time.monotonic_ns() - due_ns
        if late_ns < 0:
            return True
        waiting = self._due.kinds
        if not waiting or late_ns > (_UNDER_WAY_NS if self._due.under_way else _WAITING_NS):
            return False
        if not self.lasted_ns:
            self._watcher.on(LoadHeld(waiting))
        self.lasted_ns = max(late_ns, 1)
        return True
