"""Ctrl-C and SIGTERM: the first one ends the load early, the second one aborts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = "interrupted before the load's declared end"
"""Reason in a verdict: the user ended the load."""


@contextmanager
def interruptible(told: Callable[[], None]) -> Iterator[threading.Event]:
    """Yield an event that is set on the first signal, when `told` is also called. Inactive outside the main thread."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        told()

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
