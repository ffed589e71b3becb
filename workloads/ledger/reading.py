"""One reader of the ledger workload: tails every open ledger up to its last confirmed entry."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaoskit.contract.ledger import LedgerClients, LedgerError, LedgerReader
from chaoskit.contract.workload import Job
from workloads.ledger.recording import Recorder
from workloads.reporting import Reports

if TYPE_CHECKING:
    from workloads.ledger.workload import LedgerOptions

BATCH = 200
"""Entries of one read."""

_LOOK_NS = 300_000_000
_PAUSE_S = 0.05
_GIVE_UP_AFTER = 20
"""Attempts to read on in a ledger that has ended: the final read tries longer."""


@dataclass(slots=True)
class _Followed:
    """A ledger that is tailed."""

    reader: LedgerReader
    reached: int = 0
    failures: int = 0


def tail(job: Job) -> None:
    """Read until told to stop."""
    options: LedgerOptions = job.options
    assert isinstance(job.clients, LedgerClients)
    tailer = _Tailer(job, options)
    tailer.look_around()  # warms the client up
    job.control.wait_start()
    reports = Reports(job.control)
    looked_ns = 0
    while not job.control.stopping:
        now = time.monotonic_ns()
        if now - looked_ns > _LOOK_NS:
            tailer.look_around()
            looked_ns = now
        tailer.read_on()
        reports.tell(tailer.recorder.progress)
        time.sleep(_PAUSE_S)
    job.control.report(tailer.recorder.progress)


class _Tailer:
    def __init__(self, job: Job, options: LedgerOptions) -> None:
        assert isinstance(job.clients, LedgerClients)
        self.recorder = Recorder(job)
        self._client = job.clients.ledger_client(options.consumer)
        self._followed: dict[int, _Followed] = {}

    def look_around(self) -> None:
        """Open the ledgers that are new."""
        try:
            ledgers = self._client.open_for_writing()
        except LedgerError:
            return
        for ledger in ledgers:
            if ledger not in self._followed:
                self._open(ledger)

    def read_on(self) -> None:
        """Ask every ledger how far it is confirmed, and read up to there."""
        for ledger, followed in list(self._followed.items()):
            try:
                ended = self._advance(ledger, followed)
                followed.failures = 0
            except LedgerError:
                followed.failures += 1
                ended = followed.failures > _GIVE_UP_AFTER
            if ended:
                followed.reader.close()
                del self._followed[ledger]

    def _open(self, ledger: int) -> None:
        try:
            with self.recorder.operation("open") as op:
                reader = self._client.open(ledger, recover=False)
                position, ended = reader.confirmed()
                self.recorder.stands(op, ledger, position, ended=ended)
        except LedgerError:
            return
        self._followed[ledger] = _Followed(reader)

    def _advance(self, ledger: int, followed: _Followed) -> bool:
        """Read on in a ledger; return whether it has ended and was read to its end."""
        with self.recorder.operation("lac") as op:
            position, ended = followed.reader.confirmed()
            self.recorder.stands(op, ledger, position, ended=ended)
        while followed.reached < position:
            with self.recorder.operation("read") as op:
                entries = followed.reader.read(followed.reached, min(position, followed.reached + BATCH))
                self.recorder.received(op, ledger, entries)
            followed.reached += len(entries)
        return ended
