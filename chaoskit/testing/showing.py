"""How runs are shown to those who write tests: errors as one message, events as lines."""

from __future__ import annotations

import sys
from types import TracebackType

from chaoskit.base import owner
from chaoskit.base.errors import BadInput, ChaoskitError, FaultError, RunInterrupted
from chaoskit.base.plain import below, one_line
from chaoskit.contract.event import Event
from chaoskit.report.telling import told


class PlainErrors:
    """A block whose errors have no frames of chaoskit, which say nothing to the user, and texts that may be printed."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if isinstance(error, PermissionError):
            raise owner.refused(error) from None
        if isinstance(error, BadInput | FaultError):
            raise type(error)(below(str(error))) from None
        if isinstance(error, RunInterrupted):
            raise KeyboardInterrupt(below(str(error))) from None
        if isinstance(error, ChaoskitError):
            error.args = (below(str(error)),)


class PrintedLines:
    """Prints progress lines to stderr, which pytest shows if the test fails."""

    def on(self, event: Event) -> None:
        if line := told(event):
            sys.stderr.write(f"{one_line(line)}\n")
