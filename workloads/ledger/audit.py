"""The last client of a run: does the system take a ledger again, and what is in those that there are?

Every ledger is opened with recovery and read from its first to its last entry, twice, by two clients that share nothing
but a process. Which ledgers there are is not asked: all ids are tried up to that of the probe, which is the newest, so
that one that the system forgot is missed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chaoskit.contract.client import INFO, OK
from chaoskit.contract.ledger import (
    Entry,
    LedgerClient,
    LedgerClients,
    LedgerError,
    LedgerReader,
    NoSuchEntry,
    NoSuchLedger,
)
from chaoskit.contract.workload import Job
from chaoskit.history.schema import PRODUCER_SHIFT
from workloads import payload
from workloads.ledger.reading import BATCH
from workloads.ledger.recording import Recorder

if TYPE_CHECKING:
    from workloads.ledger.workload import LedgerOptions

_STALL_S = 45
"""A ledger that cannot be read on for this long is left: the final read is incomplete."""

_ADD_S = 15
_AGAIN_S = 0.5


def audit(job: Job) -> None:
    """Probe, read everything, record per ledger whether the end was reached."""
    options: LedgerOptions = job.options
    assert isinstance(job.clients, LedgerClients)
    job.control.wait_start()
    recorder = Recorder(job)
    clients = [job.clients.ledger_client(options.consumer) for _ in range(2)]
    newest, accepted = _probe(job, recorder, clients[0])
    op = job.wal.invoke(job.wal.name("audit"), time.monotonic_ns())
    whole = [_Auditing(job, recorder, client).read(ledger) for ledger in range(newest + 1) for client in clients]
    complete = all(whole) and newest >= 0
    job.wal.complete(op, time.monotonic_ns(), OK if complete else INFO)
    job.control.report(recorder.progress)
    job.control.result({"accepted": accepted, "audited": complete})


def _probe(job: Job, recorder: Recorder, client: LedgerClient) -> tuple[int, bool]:
    """Fill one ledger with one entry, trying again within the bound; return the newest id given, or -1, and success."""
    options: LedgerOptions = job.options
    content = payload.Writer(job.control.run_id, options.message_size)
    deadline = time.monotonic() + job.bound_ns / 1e9
    newest, sequence = -1, 0
    while time.monotonic() < deadline and not job.control.stopping:
        try:
            with recorder.operation("create") as op:
                writer = client.create(recorder.added)
                recorder.stands(op, writer.ledger, 0, ended=False)
            newest = max(newest, writer.ledger)
            value, now = options.writers << PRODUCER_SHIFT | sequence, time.monotonic_ns()
            sequence += 1
            writer.add(content.build(value, now, now), recorder.add(writer.ledger, value, now, now))
            while writer.pending() and time.monotonic() < deadline:
                writer.poll(_ADD_S)
            if not writer.failed and not writer.pending():
                with recorder.operation("close") as op:
                    recorder.stands(op, writer.ledger, writer.close(_ADD_S), ended=True)
                return newest, True
            writer.give_up()
        except LedgerError:
            time.sleep(_AGAIN_S)
    return newest, False


class _Auditing:
    """Reads whole ledgers with one client."""

    def __init__(self, job: Job, recorder: Recorder, client: LedgerClient) -> None:
        self._control = job.control
        self._recorder = recorder
        self._client = client
        self._deadline = 0.0
        self._batch = BATCH

    def read(self, ledger: int) -> bool:
        """End a ledger and read all of it; return whether every entry was read, or is nowhere."""
        self._moved()
        try:
            reader, end = self._open(ledger)
        except NoSuchLedger:
            self._recorder.audited(ledger, 0, 0)
            return True
        except LedgerError:
            return False
        reached = 0
        try:
            while reached < end:
                reached = self._read_on(reader, ledger, reached, end)
        except LedgerError:
            pass  # recorded; the audit is incomplete
        self._recorder.audited(ledger, end, reached)
        reader.close()
        return reached >= end

    def _open(self, ledger: int) -> tuple[LedgerReader, int]:
        while True:
            try:
                with self._recorder.operation("recover") as op:
                    reader = self._client.open(ledger, recover=True)
                    end, ended = reader.confirmed()
                    self._recorder.stands(op, ledger, end, ended=ended)
                self._moved()
                return reader, end
            except NoSuchLedger:
                raise
            except LedgerError:
                self._pause_or_raise()

    def _read_on(self, reader: LedgerReader, ledger: int, first: int, end: int) -> int:
        """Read a batch, or pass over one entry that is nowhere; return where to go on."""
        while True:
            last = min(end, first + self._batch)
            try:
                with self._recorder.operation("read") as op:
                    entries: list[Entry] = reader.read(first, last)
                    self._recorder.received(op, ledger, entries)
                self._moved()
                self._batch = min(BATCH, 2 * self._batch)
                return last
            except NoSuchEntry:
                self._moved()
                if last == first + 1:
                    return last
                self._batch = max(1, self._batch // 4)
            except LedgerError:
                self._pause_or_raise()

    def _moved(self) -> None:
        self._deadline = time.monotonic() + _STALL_S

    def _pause_or_raise(self) -> None:
        """Wait before another attempt; within an `except` clause only."""
        if time.monotonic() > self._deadline or self._control.stopping:
            raise  # noqa: PLE0704  # the error at hand
        time.sleep(_AGAIN_S)
