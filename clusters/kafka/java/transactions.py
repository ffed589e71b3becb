"""Kafka's own producer with transactions; see `clusters.kafka.clients.transactions` for what its commits prove."""

from __future__ import annotations

from chaoskit.contract.clients.client import ProducerFenced
from chaoskit.model.outcome import INFO, Outcome
from clusters.common.relay.transactional import NOT_ENDED, JavaTransactionalProducer

_AGAIN = (None, NOT_ENDED, "TimeoutException")
"""Errors of a registration, after which Kafka's client may be asked again."""


class KafkaTransactions(JavaTransactionalProducer):
    """See `chaoskit.contract.clients.client.TransactionalProducer`. A transaction whose end is unknown was its last
    one."""

    _failure: str | None = None

    def register(self, timeout_s: float) -> str | None:
        _, error = self._end_transaction(timeout_s, commit=False)
        if error not in _AGAIN or self._ended:
            raise ProducerFenced(error or NOT_ENDED)
        return error

    def begin(self) -> None:
        if self._failure is not None:
            raise ProducerFenced(self._failure)

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        outcome, error = super().commit(timeout_s)
        if outcome == INFO:
            self._failure = error
        return outcome, error

    def abort(self, timeout_s: float) -> str | None:
        self._failure = super().abort(timeout_s)
        return self._failure
