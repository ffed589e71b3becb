"""`events.jsonl` of a run folder: every event of the run, a line each, as it happened."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from chaoskit.contract.event import Event, Watcher

EVENTS = "events.jsonl"


class EventLog:
    """A watcher that writes events down and hands them on.

    A disk that is full costs lines here, and nothing of the history.

    Args:
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC; times count from here.
        watcher: that is told, too.
    """

    def __init__(self, folder: Path, origin_ns: int, watcher: Watcher) -> None:
        self._path = folder / EVENTS
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._lock = threading.Lock()

    def on(self, event: Event) -> None:
        """Write an event down and hand it on."""
        at_ns = time.monotonic_ns() - self._origin_ns
        line = json.dumps({"at_ns": at_ns, "event": type(event).__name__, **asdict(event)})
        with self._lock, suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        self._watcher.on(event)
