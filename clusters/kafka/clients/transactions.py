"""Kafka's transactional producer (KIP-98), and the classification of commits.

A transaction has definitely not committed if librdkafka reports that it must be aborted and the abort was
acknowledged: a coordinator that has prepared the commit rejects an abort. After any other error of a commit,
the outcome is unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from chaoskit.contract.clients.client import ProducerFenced
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from clusters.kafka.clients.producer import KafkaProducer

_FORGOTTEN = {KafkaError.INVALID_PRODUCER_ID_MAPPING, KafkaError.UNKNOWN_PRODUCER_ID}
"""Errors of a coordinator that no longer knows the transaction, so that an abort proves nothing."""


class KafkaTransactionalProducer(KafkaProducer):
    """See `chaoskit.contract.clients.client.TransactionalProducer`. Needs the setting `transactional.id`."""

    _failure: str | None = None

    def register(self, timeout_s: float) -> str | None:
        return self._tried(lambda: self._producer.init_transactions(timeout_s))

    def begin(self) -> None:
        if error := self._tried(self._producer.begin_transaction):
            raise ProducerFenced(error)

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._producer.commit_transaction(max(0.0, deadline - time.monotonic()))
                return OK, None
            except (KafkaException, SystemError) as error:
                cause = _cause(error)
                if cause is None or cause.fatal():
                    return INFO, self._fail(error)
                if cause.txn_requires_abort():
                    aborted = self.abort(deadline - time.monotonic()) is None
                    return FAIL if aborted and cause.code() not in _FORGOTTEN else INFO, cause.name()
                if not cause.retriable() or time.monotonic() >= deadline:
                    return INFO, self._fail(error)

    def abort(self, timeout_s: float) -> str | None:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._producer.abort_transaction(max(0.0, deadline - time.monotonic()))
                return None
            except (KafkaException, SystemError) as error:
                cause = _cause(error)
                if cause is None or not cause.retriable() or time.monotonic() >= deadline:
                    return self._fail(error)

    def _tried(self, call: Callable[[], None]) -> str | None:
        """Return the error of a call, if it can be retried.

        Raises:
            ProducerFenced: it cannot be retried, or an earlier call failed permanently.
        """
        if self._failure is not None:
            raise ProducerFenced(self._failure)
        try:
            call()
        except (KafkaException, SystemError) as error:
            cause = _cause(error)
            if cause is None or cause.fatal():
                raise ProducerFenced(self._fail(error)) from error
            return str(cause.name())
        return None

    def _fail(self, error: BaseException) -> str:
        cause = _cause(error)
        self._failure = str(error) if cause is None else cause.name()
        return self._failure

    def _replace(self) -> None:
        """Stay failed: this producer may have been fenced, and a new one of the same name would fence the others."""
        self._failure = self._failure or "_FATAL"
        self._purge()


def _cause(error: BaseException | None) -> Any:
    """Return librdkafka's error, also for an exception raised through a callback; None if there is none."""
    while error is not None and not isinstance(error, KafkaException):
        error = error.__cause__ or error.__context__
    return None if error is None else error.args[0]
