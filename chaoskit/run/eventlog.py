"""`events.jsonl` of a run folder: every event of the run, one per line, as it happened."""

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
    """A watcher that records events and forwards them.

    If the disk is full, lines are missing here, but the history is not affected.

    Args:
        folder: the run folder.
        origin_ns: start of the run, CLOCK_MONOTONIC; times are relative to it.
        watcher: the watcher to forward events to.
    """

    def __init__(self, folder: Path, origin_ns: int, watcher: Watcher) -> None:
        self._path = folder / EVENTS
        self._origin_ns = origin_ns
        self._watcher = watcher
        self._lock = threading.Lock()

    def on(self, event: Event) -> None:
        """Record and forward an event."""
        at_ns = time.monotonic_ns() - self._origin_ns
        line = json.dumps({"at_ns": at_ns, "event": type(event).__name__, **asdict(event)})
        with self._lock, suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        self._watcher.on(event)
