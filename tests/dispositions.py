"""Signals as they are at first: a shell ignores SIGINT for what runs in its background, and nohup SIGHUP."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from chaoskit.base.ending import SIGNALS

DEFAULT_SIGNALS = ["env", "--default-signal=INT,TERM,HUP"]
"""What a command begins with that must ignore none of them."""


@contextmanager
def default_signals() -> Iterator[None]:
    """Ignore none of them in this process."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
