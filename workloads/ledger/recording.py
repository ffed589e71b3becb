"""Records what clients of ledgers do: the topic is `ledger`, a partition is a ledger, a position an entry id."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chaoskit.contract.client import OK
from chaoskit.contract.ledger import Entry, LedgerError
from chaoskit.contract.workload import Job, Progress
from chaoskit.history.schema import DIRECTIONS, SENDING
from chaoskit.history.wal import NO_POSITION
from workloads import payload

TOPIC = "ledger"

_ADD = SENDING.index("add")
_CONFIRMED, _ENDED = DIRECTIONS.index("confirmed"), DIRECTIONS.index("ended")


class Recorder:
    """Records the operations of one client."""

    def __init__(self, job: Job) -> None:
        self.progress = Progress()
        self._wal = job.wal
        self._run_id = job.control.run_id
        self._topic_id = job.wal.name(TOPIC)

    @contextmanager
    def operation(self, f: str) -> Iterator[int]:
        """Record an operation around what it does; its outcome is that of the `LedgerError` that it raises, if any."""
        op = self._wal.invoke(self._wal.name(f), time.monotonic_ns())
        try:
            yield op
        except LedgerError as error:
            self._wal.complete(op, time.monotonic_ns(), error.outcome, self._wal.name(str(error)))
            raise
        self._wal.complete(op, time.monotonic_ns(), OK)

    def add(self, ledger: int, value: int, intended_ns: int, sent_ns: int) -> int:
        """Record the invocation of an add and return its operation."""
        self.progress.sent += 1
        return self._wal.send(self._topic_id, ledger, 0, value, intended_ns, sent_ns, _ADD)

    def added(self, op: int, outcome: int, error: str | None, position: int | None) -> None:
        """Record how an add ended; see `chaoskit.contract.client.Completed`."""
        error_id = 0 if error is None else self._wal.name(error)
        at = NO_POSITION if position is None else position
        self._wal.complete(op, time.monotonic_ns(), outcome, error_id, at)
        if outcome == OK:
            self.progress.acked += 1
        else:
            self.progress.indeterminate += 1

    def stands(self, op: int, ledger: int, position: int, *, ended: bool) -> None:
        """Record where a ledger stands: up to where it is confirmed, or where it has ended."""
        self._wal.group(op, _ENDED if ended else _CONFIRMED, self._topic_id, ledger, 0, -1, position)

    def received(self, op: int, ledger: int, entries: Sequence[Entry]) -> None:
        """Record entries that were read."""
        received_ns = time.monotonic_ns()
        for position, content in entries:
            code, value, intended_ns, sent_ns = payload.read(content, self._run_id)
            times = intended_ns, sent_ns, received_ns
            self._wal.received(op, self._topic_id, ledger, 0, value, position, *times, code)
        self.progress.received += len(entries)

    def audited(self, ledger: int, end: int, reached: int) -> None:
        """Record what the final read knew of a ledger."""
        self._wal.audit(self._topic_id, ledger, 0, end, reached)
