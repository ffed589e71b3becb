"""Ends a run by itself when its scenario says so (`stop_when`)."""

from __future__ import annotations

import subprocess
import time

from chaoskit.base.quantities import format_duration
from chaoskit.model.progress import Progress
from chaoskit.run.faults.stall import AckStall
from chaoskit.scenario.stopping import StopWhen

_COMMAND_S = 30
"""How long a command may take; one that hangs is ended, and says nothing."""


class Stopping:
    """Watches a load.

    Args:
        when: the conditions; None: nothing stops it.
    """

    def __init__(self, when: StopWhen | None) -> None:
        self._when = when
        self._stall = AckStall()
        self._asked_ns = time.monotonic_ns()
        self._command: subprocess.Popen[bytes] | None = None

    def reason(self, progress: Progress) -> str:
        """Return why the run must stop now; empty if it need not."""
        when, now_ns = self._when, time.monotonic_ns()
        if when is None:
            return ""
        if when.unavailable is not None and self._stall.lasted_ns(progress.acked, now_ns) > when.unavailable:
            return f"no send was acknowledged for {format_duration(when.unavailable)} (stop_when.unavailable)"
        if when.lag is not None and (lag := progress.lag) > when.lag:
            return f"{lag:,} acknowledged messages were not received yet (stop_when.lag)"
        try:
            return "the command requested it (stop_when.command)" if self._command_succeeded(when, now_ns) else ""
        except OSError as error:
            return f"the command cannot be run: {error.strerror} (stop_when.command)"

    def close(self) -> None:
        """End a command that still runs."""
        if self._command is not None:
            self._command.kill()
            self._command.wait()
            self._command = None

    def _command_succeeded(self, when: StopWhen, now_ns: int) -> bool:
        """Return whether the last command exited with 0; start the next one when it is due."""
        command = self._command
        if command is not None and (command.poll() is not None or now_ns - self._asked_ns > _COMMAND_S * 10**9):
            self.close()
            if command.returncode == 0:
                return True
        if when.command is not None and self._command is None and now_ns - self._asked_ns >= when.every:
            self._asked_ns = now_ns
            quiet = subprocess.DEVNULL
            self._command = subprocess.Popen(when.command, stdin=quiet, stdout=quiet, stderr=quiet)
        return False
