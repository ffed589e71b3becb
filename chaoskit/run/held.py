"""The load is held open for a while for faults that are due: one that takes effect when it is over shows nothing."""

from __future__ import annotations

import time
from typing import Protocol

from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import LoadHeld, Watcher

_MOST_NS = 30 * SECOND


class Faults(Protocol):
    """The faults of a run."""

    @property
    def due(self) -> tuple[str, ...]:
        """The kinds of those that are due, and have neither taken effect nor failed to."""


class Held:
    """Tells when a load is over.

    Args:
        faults: the faults of the run.
        watcher: notified once if the load is held open.

    Attributes:
        lasted_ns: for how long it was held open.
    """

    def __init__(self, faults: Faults, watcher: Watcher) -> None:
        self._faults = faults
        self._watcher = watcher
        self.lasted_ns = 0

    def goes_on(self, due_ns: int) -> bool:
        """Return whether the load goes on, given when it was to end (CLOCK_MONOTONIC, ns)."""
        late_ns = time.monotonic_ns() - due_ns
        if late_ns < 0:
            return True
        waiting = self._faults.due
        if not waiting or late_ns > _MOST_NS:
            return False
        if not self.lasted_ns:
            self._watcher.on(LoadHeld(waiting))
        self.lasted_ns = max(late_ns, 1)
        return True
