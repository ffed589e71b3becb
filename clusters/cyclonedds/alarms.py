"""What readers are told of writers that are not alive, and of deadlines."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from cyclonedds.core import Listener

from chaoskit.contract.clients.feed import SubscriptionChange


class Alarms:
    """Takes note of alarms. The library tells them in a thread of its own.

    Args:
        name_of: returns the name of the client that has a writer, given the topic and the writer's handle; empty if
            there is no such writer any more.
    """

    def __init__(self, name_of: Callable[[str, int], str]) -> None:
        self._name_of = name_of
        self._events: SimpleQueue[tuple[str, int | None, int]] = SimpleQueue()

    def listener(self, topic: str) -> Listener:
        """Return the listener of a topic's reader."""

        def liveliness(reader: Any, status: Any) -> None:
            if status.not_alive_count_change > 0:
                self._events.put((topic, int(status.last_publication_handle), time.monotonic_ns()))

        def deadline(reader: Any, status: Any) -> None:
            self._events.put((topic, None, time.monotonic_ns()))

        return Listener(on_liveliness_changed=liveliness, on_requested_deadline_missed=deadline)  # type: ignore[no-untyped-call]

    def take(self) -> list[SubscriptionChange]:
        """Return what was told since the last call."""
        changes: list[SubscriptionChange] = []
        while True:
            try:
                topic, handle, at_ns = self._events.get_nowait()
            except Empty:
                return changes
            if handle is None:
                changes.append(SubscriptionChange("deadline-missed", topic, at_ns, at_ns))
            elif who := self._name_of(topic, handle):
                changes.append(SubscriptionChange("not-alive", topic, at_ns, at_ns, who))
