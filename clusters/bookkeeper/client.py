"""BookKeeper's ledger API, for worker processes; see `chaoskit.contract.clients.ledger`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.ledger import Entry
from chaoskit.contract.power import P, held
from chaoskit.model.outcome import INFO, OK
from clusters.bookkeeper.gateway import Gateway

_PASSWORD = b"chaoskit"
_TIMEOUT_S = 15
"""Longer than BookKeeper's own timeout for bookies (5 s), after which it asks others."""

_POLL_S = 0.002


class BookKeeperClients:
    """The power `LedgerClients` of `chaoskit.contract.clients.ledger`. All clients of a worker share one JVM."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection
        self._gateway: Gateway | None = None

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "BookKeeper's client")

    def ledger_client(self, settings: Mapping[str, Any]) -> BookKeeperClient:
        if self._gateway is None:
            self._gateway = Gateway(self._connection["jars"])
        return BookKeeperClient(self._gateway, self._connection, settings)


class BookKeeperClient:
    """See `chaoskit.contract.clients.ledger.LedgerClient`."""

    def __init__(self, gateway: Gateway, connection: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        self._gateway = gateway
        self.first: int = connection["first_ledger"]
        self._quorums = connection["quorums"]
        self._digest = gateway.jvm.org.apache.bookkeeper.client.api.DigestType.valueOf(connection["digest"])
        self._client = gateway.connect(connection["metadata_uri"], settings)
        self._ended: set[int] = set()

    def create(self, completed: Completed) -> BookKeeperWriter:
        ensemble, write, ack = self._quorums
        ledger = self._client.newCreateLedgerOp().withDigestType(self._digest).withPassword(_PASSWORD)
        ledger = ledger.withEnsembleSize(ensemble).withWriteQuorumSize(write).withAckQuorumSize(ack)
        return BookKeeperWriter(self._gateway, self._gateway.done(ledger.execute(), _TIMEOUT_S), completed)

    def open(self, ledger: int, *, recover: bool) -> BookKeeperReader:
        asked = self._client.newOpenLedgerOp().withDigestType(self._digest).withPassword(_PASSWORD)
        asked = asked.withLedgerId(ledger).withRecovery(recover)
        return BookKeeperReader(self._gateway, self._gateway.done(asked.execute(), _TIMEOUT_S))

    def open_for_writing(self) -> list[int]:
        listed = self._gateway.done(self._client.newListLedgersOp().execute(), _TIMEOUT_S)
        ledgers = self._gateway.listed(listed.toIterable())
        unknown = sorted(ledger for ledger in set(ledgers) - self._ended if ledger >= self.first)
        asked = [(ledger, self._client.getLedgerMetadata(ledger)) for ledger in unknown]
        self._ended |= {ledger for ledger, future in asked if self._gateway.done(future, _TIMEOUT_S).isClosed()}
        return [ledger for ledger in unknown if ledger not in self._ended]

    def close(self) -> None:
        try:
            self._client.close()
        except Py4JJavaError:
            return  # the worker exits, and its JVM with it


class BookKeeperWriter:
    """See `chaoskit.contract.clients.ledger.LedgerWriter`. Adds complete in order."""

    def __init__(self, gateway: Gateway, handle: Any, completed: Completed) -> None:
        self._gateway = gateway
        self._handle = handle
        self._completed = completed
        self._pending: deque[tuple[int, Any]] = deque()
        self.ledger: int = handle.getId()
        self.failed = False

    def add(self, payload: bytes, token: int) -> None:
        self._pending.append((token, self._handle.appendAsync(payload)))

    def pending(self) -> int:
        return len(self._pending)

    def poll(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._complete() and self._pending and (left_s := deadline - time.monotonic()) > 0:
            time.sleep(min(_POLL_S, left_s))

    def close(self, timeout_s: float) -> int:
        self._gateway.done(self._handle.closeAsync(), timeout_s)
        end: int = self._handle.getLedgerMetadata().getLastEntryId() + 1
        return end

    def give_up(self) -> None:
        self._complete()
        while self._pending:
            token, _ = self._pending.popleft()
            self._completed(token, INFO, "never completed", None)

    def _complete(self) -> int:
        """Report completed adds; return their number."""
        count = 0
        while self._pending:
            token, future = self._pending[0]
            try:
                entry = future.getNow(None)
            except Py4JJavaError as error:
                failure = self._gateway.error(error)
                self.failed = True
                self._pending.popleft()
                self._completed(token, failure.outcome, str(failure), None)
            else:
                if entry is None:
                    break
                self._pending.popleft()
                self._completed(token, OK, None, entry)
            count += 1
        return count


class BookKeeperReader:
    """See `chaoskit.contract.clients.ledger.LedgerReader`."""

    def __init__(self, gateway: Gateway, handle: Any) -> None:
        self._gateway = gateway
        self._handle = handle

    def confirmed(self) -> tuple[int, bool]:
        # Query this first: if the ledger is closed in between, its end is reported the next time.
        ended = self._handle.isClosed()
        self._gateway.done(self._handle.readLastAddConfirmedAsync(), _TIMEOUT_S)
        # Use the handle's value rather than this response: an earlier response may have reported a later entry.
        return self._handle.getLastAddConfirmed() + 1, ended

    def read(self, first: int, end: int) -> list[Entry]:
        entries = self._gateway.done(self._handle.readAsync(first, end - 1), _TIMEOUT_S)
        try:
            return [Entry(position, payload) for position, payload in self._gateway.contents(entries)]
        finally:
            entries.close()

    def close(self) -> None:
        try:
            self._handle.close()
        except Py4JJavaError:
            return  # closing a reader only releases it
