"""RocketMQ's transactional messages: a half message is stored out of sight, and its producer says later how it ends.

That message to the broker has no answer. A broker that did not get it asks any producer of the group, again and again,
and gives up after `transactionCheckMax` times: then the message is never seen (`TransactionalMessageServiceImpl`).
"""

from __future__ import annotations

import struct
import time

from chaoskit.contract.client import Completed
from chaoskit.contract.vocabulary import FAIL, INFO, OK, Outcome
from clusters.common.relay.process import Jvm
from clusters.common.relay.producer import JavaProducer

_END = -2
"""The token of the end of a transaction; those of messages are not negative."""

_ENDING = struct.Struct(">cq?")
_STEP_S = 0.1
_NOT_ENDED = "the client did not end it in time"


class RocketTransactionalProducer(JavaProducer):
    """See `chaoskit.contract.client.TransactionalProducer`. Nothing is registered, and nobody is fenced.

    Args:
        jvm: the JVM of its client.
        completed: is told each completion of a message.
    """

    def __init__(self, jvm: Jvm, completed: Completed) -> None:
        super().__init__(jvm, (), self._note, tells_positions=False)
        self._of_messages = completed
        self._told: tuple[Outcome, str | None] | None = None

    def register(self, timeout_s: float) -> str | None:
        return None

    def begin(self) -> None:
        """Do nothing: a transaction begins with its half message."""

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        outcome, error = self._end_transaction(timeout_s, commit=True)
        rolled_back = outcome != OK and error != _NOT_ENDED
        return (FAIL, error) if rolled_back else (outcome, error)

    def abort(self, timeout_s: float) -> str | None:
        return self._end_transaction(timeout_s, commit=False)[1]

    def _end_transaction(self, timeout_s: float, *, commit: bool) -> tuple[Outcome, str | None]:
        self._told = None
        self._unsent += _ENDING.pack(b"e", _END, commit)
        self._pending.add(_END)
        deadline = time.monotonic() + timeout_s
        while self._told is None and time.monotonic() < deadline:
            self.poll(_STEP_S)
        return self._told or (INFO, _NOT_ENDED)

    def _note(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None:
        if token == _END:
            self._told = outcome, error
        else:
            self._of_messages(token, outcome, error, position, at_ns)
