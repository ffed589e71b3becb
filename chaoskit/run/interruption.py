"""Ctrl-C and SIGTERM: during the load, the first one ends it early; before the load, and the second time, it aborts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = "interrupted before the load's declared end"
"""Reason in a verdict: the user ended the load."""


class TooEarly(BaseException):
    """The user interrupted the run before its load began. As KeyboardInterrupt, it is no Exception: only clean-up may
    handle it on its way."""


class Interruption(threading.Event):
    """Set when the user interrupts the run.

    Attributes:
        load_begun: whether there is something to judge; until then, an interruption raises `TooEarly`.
    """

    load_begun = False


@contextmanager
def interruptible(told: Callable[[], None]) -> Iterator[Interruption]:
    """Yield an event that is set on the first signal, when `told` is also called. Inactive outside the main thread."""
    asked = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        if not asked.load_begun:
            raise TooEarly
        told()

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
