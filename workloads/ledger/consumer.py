"""One reader of the ledger workload: tails every open ledger up to its last confirmed entry."""

from __future__ import annotations

import time
from dataclasses import dataclass

from chaoskit.contract.clients.ledger import LedgerClients, LedgerError, LedgerReader
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.settings import settings_of
from workloads.ledger.options import LedgerOptions
from workloads.ledger.recording import received, stands

BATCH = 200
"""Number of entries per read."""

_LOOK_NS = 300_000_000
_PAUSE_S = 0.05
_GIVE_UP_AFTER = 20
"""Attempts to continue reading a closed ledger; the final read tries longer."""


@dataclass(slots=True)
class _Followed:
    """A tailed ledger."""

    reader: LedgerReader
    reached: int = 0
    failures: int = 0


def tail(job: Job[LedgerOptions]) -> None:
    """Read until stopped."""
    tailer = _Tailer(job)
    tailer.look_around()  # warms the client up
    job.control.wait_start()
    reports = Reports(job.control, job.recorder)
    looked_ns = 0
    while not job.control.stopping:
        now = time.monotonic_ns()
        if now - looked_ns > _LOOK_NS:
            tailer.look_around()
            looked_ns = now
        tailer.read_on()
        reports.tell()
        time.sleep(_PAUSE_S)
    reports.finish()


class _Tailer:
    def __init__(self, job: Job[LedgerOptions]) -> None:
        self._recorder = job.recorder
        self._client = job.clients.power(LedgerClients).ledger_client(settings_of(job.task, job.options.consumer))
        self._followed: dict[int, _Followed] = {}

    def look_around(self) -> None:
        """Open new ledgers."""
        try:
            ledgers = self._client.open_for_writing()
        except LedgerError:
            return
        for ledger in ledgers:
            if ledger not in self._followed:
                self._open(ledger)

    def read_on(self) -> None:
        """Query the last confirmed entry of every ledger, and read up to it."""
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
            with self._recorder.operation("open") as op:
                reader = self._client.open(ledger, recover=False)
                position, ended = reader.confirmed()
                stands(self._recorder, op, ledger, position, ended=ended)
        except LedgerError:
            return
        self._followed[ledger] = _Followed(reader)

    def _advance(self, ledger: int, followed: _Followed) -> bool:
        """Continue reading a ledger; return whether it is closed and was read to its end."""
        with self._recorder.operation("lac") as op:
            position, ended = followed.reader.confirmed()
            stands(self._recorder, op, ledger, position, ended=ended)
        while followed.reached < position:
            with self._recorder.operation("read") as op:
                entries = followed.reader.read(followed.reached, min(position, followed.reached + BATCH))
                received(self._recorder, op, ledger, entries)
            followed.reached += len(entries)
        return ended
