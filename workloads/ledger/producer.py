"""One writer of the ledger workload."""

from __future__ import annotations

import time

from chaoskit.contract.clients.ledger import LedgerClients, LedgerError, LedgerWriter
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.schedule import WARM_UP_TIMEOUT_S, Schedule
from chaoskit.model import payload
from chaoskit.model.message import PRODUCER_SHIFT
from workloads.ledger.options import TOPIC, LedgerOptions
from workloads.ledger.recording import ADD, stands

_BURST = 16
"""Number of adds between two polls for completions."""

_DRAIN_S = 30
"""How long adds may take to complete before a ledger is abandoned."""

_CLOSE_S = 20
_AGAIN_S = 0.1


def write(job: Job[LedgerOptions]) -> None:
    """Fill ledgers until stopped, then wait for every completion and close the last ledger."""
    options = job.options
    writer = _Writer(job)
    writer.warm_up()
    start_ns = job.control.wait_start()
    schedule = Schedule(options.rate, options.writers, start_ns, writer.sequence)
    reports = Reports(job.control, job.recorder)
    while not job.control.stopping:
        now = time.monotonic_ns()
        room = writer.room()
        for _ in range(int(min(schedule.due(now) - writer.sequence, room, _BURST))):
            writer.add(schedule.intended_ns(writer.sequence))
        writer.move_on(schedule.wait_s(writer.sequence, room))
        reports.tell()
    writer.finish()
    reports.finish()


class _Writer:
    """Adds messages one by one, ledger after ledger."""

    def __init__(self, job: Job[LedgerOptions]) -> None:
        options = job.options
        self.sequence = 0
        self._recorder = recorder = job.recorder
        self._topic_id = recorder.topic_id(recorder.in_system(TOPIC))
        self._options = options
        self._client = job.clients.power(LedgerClients).ledger_client(options.producer)
        self._payload = payload.Writer(recorder.run_id, options.message_size)
        # Each incarnation has its own writer number; one number after those of each incarnation is the auditor's.
        number = job.task.index + job.task.incarnation * (options.writers + 1)
        self._first_value = number << PRODUCER_SHIFT
        self._ledger: LedgerWriter | None = None
        self._added = 0

    def warm_up(self) -> None:
        """Create the first ledger and add one entry, so that warm-up does not count for the latency of the load."""
        deadline = time.monotonic() + WARM_UP_TIMEOUT_S
        while self._ledger is None and time.monotonic() < deadline:
            self._create()
        if self._ledger is not None:
            self.add(None)
            self._drain(WARM_UP_TIMEOUT_S)

    def room(self) -> int:
        """Return how many adds are possible now."""
        if self._ledger is None or self._ledger.failed:
            return 0
        return min(self._options.in_flight - self._ledger.pending(), self._options.entries - self._added)

    def add(self, intended_ns: int | None) -> None:
        """Add the next message; `room` must not be 0."""
        assert self._ledger is not None
        value = self._first_value | self.sequence
        self.sequence += 1
        self._added += 1
        sent_ns = time.monotonic_ns()
        intended_ns = sent_ns if intended_ns is None else intended_ns
        content = self._payload.build(value, intended_ns, sent_ns)
        ledger = self._ledger
        ids = self._topic_id, ledger.ledger, 0
        ledger.add(content, self._recorder.send(*ids, value, intended_ns, sent_ns, ADD))

    def move_on(self, timeout_s: float) -> None:
        """Process completions for at most `timeout_s`; continue with a new ledger if this one failed or is full."""
        if self._ledger is None:
            self._create()
            return
        self._ledger.poll(timeout_s)
        if self._ledger.failed:
            self._leave()
            time.sleep(_AGAIN_S)  # the next ledger may fail at once, too, as long as a storage node is missing
        elif self._added >= self._options.entries:
            self._end()

    def finish(self) -> None:
        """Close the ledger and disconnect."""
        if self._ledger is not None:
            self._end()
        self._client.close()

    def _create(self) -> None:
        try:
            with self._recorder.operation("create") as op:
                self._ledger = self._client.create(self._recorder.completed)
                stands(self._recorder, op, self._ledger.ledger, 0, ended=False)
        except LedgerError:
            time.sleep(_AGAIN_S)
        self._added = 0

    def _end(self) -> None:
        assert self._ledger is not None
        self._drain(_DRAIN_S)
        if not self._ledger.failed:
            try:
                with self._recorder.operation("close") as op:
                    stands(self._recorder, op, self._ledger.ledger, self._ledger.close(_CLOSE_S), ended=True)
            except LedgerError:
                pass  # recorded; readers with recovery will close the ledger
        self._leave()

    def _leave(self) -> None:
        assert self._ledger is not None
        self._drain(_DRAIN_S)
        self._ledger.give_up()
        self._ledger = None

    def _drain(self, timeout_s: float) -> None:
        assert self._ledger is not None
        deadline = time.monotonic() + timeout_s
        while self._ledger.pending() and time.monotonic() < deadline:
            self._ledger.poll(_AGAIN_S)
