"""A producer of a system's own (Java) client that sends in transactions."""

from __future__ import annotations

import struct
import time
from collections.abc import Collection

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import INFO, OK, Outcome
from clusters.common.relay.process import Jvm
from clusters.common.relay.producer import JavaProducer

NOT_ENDED = "the client did not end it in time"
"""The error of a transaction of whose end the client did not tell."""

_ENDING = struct.Struct(">cq?")
_NONE = -1
_STEP_S = 0.1


class JavaTransactionalProducer(JavaProducer):
    """See `chaoskit.contract.clients.client.TransactionalProducer`. Nothing is registered, and nobody is fenced.

    The ends of transactions have tokens, too; those of messages are not negative.

    Args:
        jvm: the JVM of its client.
        never_sent: see `JavaProducer`.
        completed: is told each completion of a message.
        tells_positions: see `JavaProducer`.
    """

    def __init__(
        self, jvm: Jvm, never_sent: Collection[str], completed: Completed, *, tells_positions: bool = True
    ) -> None:
        super().__init__(jvm, never_sent, self._note, tells_positions=tells_positions)
        self._of_messages = completed
        self._ending = _NONE
        self._outcome: tuple[Outcome, str | None] | None = None

    def register(self, timeout_s: float) -> str | None:
        return None

    def begin(self) -> None:
        """Do nothing: a transaction begins with its first message."""

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        return self._end_transaction(timeout_s, commit=True)

    def abort(self, timeout_s: float) -> str | None:
        return self._end_transaction(timeout_s, commit=False)[1]

    def _end_transaction(self, timeout_s: float, *, commit: bool) -> tuple[Outcome, str | None]:
        self._outcome = None
        self._ending -= 1
        self._unsent += _ENDING.pack(b"e", self._ending, commit)
        self._pending.add(self._ending)
        deadline = time.monotonic() + timeout_s
        while self._outcome is None and time.monotonic() < deadline:
            self.poll(_STEP_S)
        return self._outcome or (INFO, NOT_ENDED)

    def _note(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None:
        if token == self._ending:
            self._outcome = outcome, None if outcome == OK else error
        elif token >= 0:
            self._of_messages(token, outcome, error, position, at_ns)
