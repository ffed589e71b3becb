"""Ctrl-C, SIGTERM and SIGHUP: during the load, the first one ends it early; before the load, and the second time, it
aborts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chaoskit.base.ending import handled_by

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

    def __init__(self) -> None:
        super().__init__()
        self._holding = False
        self._put_off: type[BaseException] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raise at the end what an interruption would raise meanwhile: what has just been started must be known to
        those who end it."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            put_off, self._put_off = self._put_off, None
            if put_off is not None:
                raise put_off

    def end(self, why: type[BaseException]) -> None:
        """Raise this in the main thread, now or at the end of `held`."""
        if not self._holding:
            raise why
        self._put_off = why


@contextmanager
def interruptible(on_signal: Callable[[], None]) -> Iterator[Interruption]:
    """Yield an event that is set on the first signal, when `on_signal` is also called. Inactive outside the main
    thread."""
    asked = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def interrupt() -> None:
        if asked.is_set():
            asked.end(KeyboardInterrupt)
            return
        asked.set()
        if asked.load_begun:
            on_signal()
        else:
            asked.end(TooEarly)

    with handled_by(interrupt):
        yield asked
