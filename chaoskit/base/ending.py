"""Ctrl-C, SIGTERM and SIGHUP (a closed terminal): all three end the program alike, so that what it made is removed.

One place handles them as long as there is something to remove, or somebody to tell: the last handler that was given,
else the main thread gets `KeyboardInterrupt`, as from Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_handlers: list[Callable[[], None]] = []
_before: dict[signal.Signals, Any] = {}
_held = 0
_hung_up = False


def hold() -> None:
    """End the program by `KeyboardInterrupt` from now on, until `let_go`. Not outside the main thread."""
    global _held  # noqa: PLW0603  # signals are a matter of the whole process
    _held += 1
    _install()


def let_go() -> None:
    """Undo one `hold`."""
    global _held  # noqa: PLW0603  # see `hold`
    _held -= 1
    _restore()


@contextmanager
def handled_by(handler: Callable[[], None]) -> Iterator[None]:
    """Call a handler for each signal, in the main thread; nothing happens outside of it."""
    _handlers.append(handler)
    _install()
    try:
        yield
    finally:
        _handlers.remove(handler)
        _restore()


def _install() -> None:
    if _before or threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        # Under nohup a closed terminal does not matter. What a shell runs in the background ignores Ctrl-C: one that
        # comes all the same is meant.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            _before[number] = signal.signal(number, _dispatch)


def _restore() -> None:
    global _hung_up  # noqa: PLW0603  # see `hold`
    if _held or _handlers or threading.current_thread() is not threading.main_thread():
        return
    _hung_up = False
    while _before:
        number, handler = _before.popitem()
        signal.signal(number, handler)


def _dispatch(number: int, frame: FrameType | None) -> None:
    global _hung_up  # noqa: PLW0603  # see `hold`
    if number == signal.SIGHUP:
        if _hung_up:  # the kernel may send it twice, which is nobody's second Ctrl-C
            return
        _hung_up = True
        _leave_terminal()
    if not _handlers:
        raise KeyboardInterrupt
    _handlers[-1]()


def _leave_terminal() -> None:
    """Write nothing to a terminal that is gone: an error of that must not interrupt what is removed."""
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        null = os.fstat(nothing.fileno()).st_rdev
        for standard in range(3):
            try:
                status = os.fstat(standard)
            except OSError:  # it was closed
                continue
            if stat.S_ISCHR(status.st_mode) and status.st_rdev != null:
                os.dup2(nothing.fileno(), standard)
