"""The last client of a run: checks that the system accepts a new ledger, and reads all existing ones.

Every ledger is opened with recovery and read from its first to its last entry, twice, by two clients that share only
the process. The auditor does not ask the system for a list of ledgers. It tries all ids up to that of the probe, which
is the newest, so that it notices a ledger that the system forgot; and some ids beyond, because a system that forgot
many ledgers reuses their ids.
"""

from __future__ import annotations

import time

from chaoskit.contract.clients.ledger import (
    Entry,
    LedgerClient,
    LedgerClients,
    LedgerError,
    LedgerReader,
    NoSuchEntry,
    NoSuchLedger,
    Unreadable,
)
from chaoskit.contract.workloads.workload import Job
from chaoskit.model import payload
from chaoskit.model.audit import Bounds
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.log import UnreadableGap
from chaoskit.model.outcome import INFO, OK
from workloads.ledger.consumer import BATCH
from workloads.ledger.options import TOPIC, LedgerOptions
from workloads.ledger.recording import ADD, received, stands

_STALL_S = 45
"""If reading a ledger makes no progress for this long, it is abandoned, and the final read is incomplete."""

_BEYOND = 100
"""Number of consecutive ids without a ledger after which there are none above."""

_ADD_S = 15
_AGAIN_S = 0.5


def audit(job: Job[LedgerOptions]) -> None:
    """Probe, read everything, and record for each ledger whether its end was reached."""
    options = job.options
    job.control.wait_start()
    recorder = job.recorder
    clients = [job.clients.power(LedgerClients).ledger_client(options.consumer) for _ in range(2)]
    newest, accepted = _probe(job, clients[0])
    job.control.result({"accepted": accepted})
    op = recorder.invoke("audit")
    readers = [_Auditing(job, client) for client in clients]
    whole, ledger = newest >= 0, clients[0].first
    while ledger <= newest or readers[0].missing < _BEYOND:
        if job.control.stopping:
            whole = False
            break
        read = [reader.read(ledger) for reader in readers]
        whole = whole and all(read)
        ledger += 1
    recorder.complete(op, OK if whole else INFO)
    job.control.report(recorder.report())
    job.control.result({"audited": whole})


def _probe(job: Job[LedgerOptions], client: LedgerClient) -> tuple[int, bool]:
    """Write a ledger with one entry, retrying within the bound; return the newest id assigned, or -1, and success."""
    options, recorder = job.options, job.recorder
    topic_id = recorder.topic_id(recorder.in_system(TOPIC))
    content = payload.Writer(recorder.run_id, options.message_size)
    deadline = time.monotonic() + job.bound_ns / 1e9
    newest, sequence = -1, 0
    while time.monotonic() < deadline and not job.control.stopping:
        try:
            with recorder.operation("create") as op:
                writer = client.create(recorder.completed)
                stands(recorder, op, writer.ledger, 0, ended=False)
            newest = max(newest, writer.ledger)
            value, now = options.writers << PRODUCER_SHIFT | sequence, time.monotonic_ns()
            sequence += 1
            op = recorder.send(topic_id, writer.ledger, 0, value, now, now, ADD)
            writer.add(content.build(value, now, now), op)
            while writer.pending() and time.monotonic() < deadline:
                writer.poll(_ADD_S)
            if not writer.failed and not writer.pending():
                with recorder.operation("close") as op:
                    stands(recorder, op, writer.ledger, writer.close(_ADD_S), ended=True)
                return newest, True
            writer.give_up()
        except LedgerError:
            time.sleep(_AGAIN_S)
    return newest, False


class _Auditing:
    """Reads whole ledgers with one client.

    Attributes:
        missing: number of consecutive missing ledgers so far.
    """

    def __init__(self, job: Job[LedgerOptions], client: LedgerClient) -> None:
        self._control = job.control
        self._recorder = job.recorder
        self._client = client
        self._deadline = 0.0
        self._batch = BATCH
        self._refuses = False
        self.missing = 0

    def read(self, ledger: int) -> bool:
        """Close a ledger and read all of it; return whether every entry was read or does not exist anywhere."""
        self._moved()
        try:
            reader, end = self._open(ledger)
        except NoSuchLedger:
            self._audited(ledger, 0, 0)
            self.missing += 1
            return True
        except LedgerError:
            return False
        self.missing = reached = 0
        self._refuses = False
        try:
            while reached < end and not self._control.stopping:
                reached = self._read_on(reader, ledger, reached, end)
        except LedgerError:
            pass  # recorded; the audit is incomplete
        self._audited(ledger, end, reached)
        reader.close()
        return reached >= end

    def _open(self, ledger: int) -> tuple[LedgerReader, int]:
        while True:
            try:
                with self._recorder.operation("recover") as op:
                    reader = self._client.open(ledger, recover=True)
                    end, ended = reader.confirmed()
                    stands(self._recorder, op, ledger, end, ended=ended)
                self._moved()
                return reader, end
            except NoSuchLedger:
                raise
            except LedgerError:
                self._pause_or_raise()

    def _read_on(self, reader: LedgerReader, ledger: int, first: int, end: int) -> int:
        """Read a batch, or skip one entry that does not exist anywhere, or that was refused twice; return where to
        continue."""
        refused = False
        while True:
            last = min(end, first + self._batch)
            try:
                with self._recorder.operation("read") as op:
                    entries: list[Entry] = reader.read(first, last)
                    received(self._recorder, op, ledger, entries)
                self._moved()
                self._batch = min(BATCH, 2 * self._batch)
                return last
            except (NoSuchEntry, NoSuchLedger):  # the latter is the answer of nodes without any entry of a ledger
                self._moved()
                if last == first + 1:
                    return last
                self._batch = max(1, self._batch // 4)
            except Unreadable as error:
                if last > first + 1:
                    self._batch = max(1, self._batch // 4)
                elif refused:
                    self._skip(ledger, first, error)
                    return last
                else:
                    refused = True
                    if not self._refuses:  # of the first entry of a ledger it might pass
                        self._pause_or_raise()
            except LedgerError:
                self._pause_or_raise()

    def _skip(self, ledger: int, entry: int, error: Unreadable) -> None:
        """Record that the system cannot read an entry."""
        self._moved()
        self._refuses = True
        op = self._recorder.invoke("skip")
        topic = self._recorder.in_system(TOPIC)
        self._recorder.observe(op, topic, ledger, UnreadableGap(entry, entry + 1))
        self._recorder.complete(op, OK, str(error))

    def _audited(self, ledger: int, end: int, reached: int) -> None:
        topic = self._recorder.in_system(TOPIC)
        self._recorder.audited(topic, ledger, Bounds(0, end, complete=reached >= end, reached=reached))

    def _moved(self) -> None:
        self._deadline = time.monotonic() + _STALL_S

    def _pause_or_raise(self) -> None:
        """Wait before another attempt; within an `except` clause only."""
        if time.monotonic() > self._deadline or self._control.stopping:
            raise  # noqa: PLE0704  # the error at hand
        time.sleep(_AGAIN_S)
