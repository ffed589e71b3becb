"""Has consumers pause until a backlog waits for them, and watches them read it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.base.quantities import format_duration
from chaoskit.contract.event import PhaseBegun, Watcher
from chaoskit.contract.workloads.traits import Backlog
from chaoskit.judge.timing.recovery import BuiltBacklog
from chaoskit.model.progress import Progress
from chaoskit.run.client import Client


class Backlogging:
    """The backlog of a load.

    Args:
        wanted: what is declared; None: there is no backlog.
        consumers: those who pause.
        start_ns: start of the load, CLOCK_MONOTONIC.
        watcher: is told what begins.
    """

    def __init__(self, wanted: Backlog | None, consumers: Sequence[Client], start_ns: int, watcher: Watcher) -> None:
        self._wanted = wanted
        self._consumers = consumers
        self._start_ns = start_ns
        self._watcher = watcher
        self._paused_ns: int | None = None
        self._resumed_ns: int | None = None
        self._read_ns: int | None = None
        self._messages = 0

    def lasted_ns(self) -> int:
        """Return how long building and reading have lasted so far, which does not count for the load's duration."""
        if self._paused_ns is None:
            return 0
        return (time.monotonic_ns() if self._read_ns is None else self._read_ns) - self._paused_ns

    def look(self, progress: Progress) -> str | None:
        """Go on with it; return why that takes too long, if it does."""
        wanted, now_ns = self._wanted, time.monotonic_ns()
        if wanted is None or self._read_ns is not None:
            return None
        waiting = wanted.copies * progress.acked - progress.received
        if self._paused_ns is None:
            if now_ns - self._start_ns >= wanted.after_ns:
                self._paused_ns = now_ns
                self._begin("backlog")
                for consumer in self._consumers:
                    consumer.pause()
        elif self._resumed_ns is None:
            if waiting >= wanted.messages:
                self._resumed_ns, self._messages = now_ns, waiting
                self._begin("read backlog")
                for consumer in self._consumers:
                    consumer.resume()
        elif waiting <= wanted.left:
            self._read_ns = now_ns
            self._begin("load")
        if self.lasted_ns() <= wanted.within_ns:
            return None
        what = "built" if self._resumed_ns is None else "read"
        return (
            f"the backlog was not {what} within {format_duration(wanted.within_ns)}: {waiting:,} messages are waiting"
        )

    def end(self) -> None:
        """Have consumers that are still paused go on: the load has ended."""
        if self._paused_ns is not None and self._resumed_ns is None:
            for consumer in self._consumers:
                consumer.resume()

    def told(self, origin_ns: int) -> BuiltBacklog | None:
        """Return what recovery.json says of it, times since `origin_ns`; None if it did not begin."""
        if self._paused_ns is None:
            return None
        paused_ns, resumed_ns, read_ns = (
            None if at_ns is None else at_ns - origin_ns for at_ns in (self._paused_ns, self._resumed_ns, self._read_ns)
        )
        assert paused_ns is not None
        return {"paused_ns": paused_ns, "resumed_ns": resumed_ns, "read_ns": read_ns, "messages": self._messages}

    def _begin(self, phase: str) -> None:
        self._watcher.on(PhaseBegun(phase))
