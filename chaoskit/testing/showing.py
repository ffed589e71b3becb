"""How runs are shown to those who write tests: errors as one message, events as lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chaoskit.base import owner
from chaoskit.base.errors import BadInput, ChaoskitError, RunInterrupted
from chaoskit.base.plain import below, one_line
from chaoskit.contract.event import Event
from chaoskit.report.telling import told


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise errors without the frames of chaoskit, which say nothing to the user, and as text that may be printed."""
    __tracebackhide__ = True
    try:
        yield
    except PermissionError as error:
        raise owner.refused(error) from None
    except BadInput as error:
        raise BadInput(below(str(error))) from None
    except RunInterrupted as error:
        raise KeyboardInterrupt(below(str(error))) from None
    except ChaoskitError as error:
        error.args = (below(str(error)),)  # pytest prints it
        raise


class Lines:
    """Prints progress lines to stderr, which pytest shows if the test fails."""

    def on(self, event: Event) -> None:
        if line := told(event):
            sys.stderr.write(f"{one_line(line)}\n")
