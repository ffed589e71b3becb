"""A producer made of one client after the other, each given up after a time with its sends under way."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaoskit.contract.client import OK, Producer
from chaoskit.contract.workload import Job


class Restarts:
    """Says when the next restart is due.

    Args:
        every_ns: time between two; None: never.
        later_ns: how much longer the first one waits.
    """

    def __init__(self, every_ns: int | None, later_ns: int = 0) -> None:
        self._every_ns = every_ns
        self._last_ns = time.monotonic_ns() + later_ns

    def due(self) -> bool:
        """Return whether one is due; it counts as done then."""
        now = time.monotonic_ns()
        if self._every_ns is None or now - self._last_ns < self._every_ns:
            return False
        self._last_ns = now
        return True

    def end(self) -> None:
        """No more of them."""
        self._every_ns = None


class Restarting:
    """A `chaoskit.contract.client.Producer`; what a client had not completed when it was given up is unknown and not
    sent again.

    Args:
        job: of this client.
        connect: makes the next client.
        every_ns: how long a client is kept; None: for ever.
    """

    def __init__(self, job: Job, connect: Callable[[], Producer], every_ns: int | None) -> None:
        self._wal = job.wal
        self._connect = connect
        self._producer = connect()
        self._restarts = Restarts(every_ns)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self._producer.send(topic, partition, key, payload, token)

    def pending(self) -> int:
        return self._producer.pending()

    def poll(self, timeout_s: float) -> None:
        if self._restarts.due():
            op = self._wal.invoke(self._wal.name("restart"), time.monotonic_ns())
            self._producer.close(0)
            self._producer = self._connect()
            self._wal.complete(op, time.monotonic_ns(), OK)
        self._producer.poll(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._producer.close(timeout_s)
