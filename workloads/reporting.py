"""How a worker tells the harness how far it is."""

from __future__ import annotations

import time

from chaoskit.contract.workload import Control, Progress

_EVERY_NS = 200_000_000


class Reports:
    """Reports of one client, a few times a second."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._last_ns = time.monotonic_ns()

    def tell(self, progress: Progress) -> None:
        """Report, unless the last report is too recent."""
        now = time.monotonic_ns()
        if now - self._last_ns > _EVERY_NS:
            self._control.report(progress)
            self._last_ns = now
