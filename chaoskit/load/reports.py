"""Progress reports from a worker to the harness."""

from __future__ import annotations

import time

from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Control

_EVERY_NS = 200_000_000


class Reports:
    """Reports of one client, a few times per second and at its end.

    Args:
        control: its link to the harness.
        recorder: its recorder.
    """

    def __init__(self, control: Control, recorder: Recorder) -> None:
        self._control = control
        self._recorder = recorder
        self._last_ns = time.monotonic_ns()

    def tell(self) -> bool:
        """Report, unless the last report is too recent; return whether it was done."""
        now = time.monotonic_ns()
        due = now - self._last_ns > _EVERY_NS
        if due:
            self.finish()
            self._last_ns = now
        return due

    def finish(self) -> None:
        """Report now."""
        self._control.report(self._recorder.report())
