"""Ends of transactions are classified so that only a proof says `fail`, and a fenced producer stays fenced."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import ProducerFenced
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from clusters.kafka.clients.clients import KafkaClients
from clusters.kafka.clients.settings import transactional_settings
from clusters.kafka.clients.transactions import KafkaTransactionalProducer
from clusters.kafka.connection import NAMESPACE
from clusters.kafka.settings import KafkaOptions


class ScriptedProducer:
    """librdkafka's producer, whose calls raise one error after the other, then succeed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.errors: dict[str, list[KafkaError]] = {}

    def _do(self, call: str) -> None:
        if self.errors.get(call):
            raise KafkaException(self.errors[call].pop(0))

    def init_transactions(self, timeout_s: float) -> None:
        self._do("init")

    def begin_transaction(self) -> None:
        self._do("begin")

    def commit_transaction(self, timeout_s: float) -> None:
        self._do("commit")

    def abort_transaction(self, timeout_s: float) -> None:
        self._do("abort")

    def purge(self, **options: bool) -> None:
        """Nothing is under way."""

    def flush(self, timeout_s: float) -> int:
        return 0


def _error(code: int, **kind: bool) -> KafkaError:
    return KafkaError(code, "told by a test", **kind)


RETRIABLE = _error(KafkaError._TIMED_OUT, retriable=True)
ABORTABLE = _error(KafkaError.NOT_ENOUGH_REPLICAS, txn_requires_abort=True)
FORGOTTEN = _error(KafkaError.INVALID_PRODUCER_ID_MAPPING, txn_requires_abort=True)
FENCED = _error(KafkaError._FENCED, fatal=True)
ODD = _error(KafkaError._FAIL)


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("clusters.kafka.clients.producer.Producer", ScriptedProducer)
    return KafkaTransactionalProducer({}, lambda *_: None)


@pytest.mark.parametrize(
    ("commit", "abort", "outcome"),
    [
        ([], [], (OK, None)),
        ([RETRIABLE, RETRIABLE], [], (OK, None)),
        ([ABORTABLE], [], (FAIL, "NOT_ENOUGH_REPLICAS")),
        ([ABORTABLE], [RETRIABLE], (FAIL, "NOT_ENOUGH_REPLICAS")),
        ([ABORTABLE], [FENCED], (INFO, "NOT_ENOUGH_REPLICAS")),
        ([FORGOTTEN], [], (INFO, "INVALID_PRODUCER_ID_MAPPING")),
        ([FENCED], [], (INFO, "_FENCED")),
        ([ODD], [], (INFO, "_FAIL")),
    ],
)
def test_a_commit_has_failed_only_where_the_abort_was_acknowledged(
    producer: Any, commit: list[KafkaError], abort: list[KafkaError], outcome: tuple[Outcome, str | None]
) -> None:
    producer._producer.errors = {"commit": list(commit), "abort": list(abort)}

    assert producer.commit(1) == outcome


def test_a_commit_that_takes_too_long_is_not_known(producer: Any) -> None:
    producer._producer.errors = {"commit": [RETRIABLE] * 3}

    assert producer.commit(0) == (INFO, "_TIMED_OUT")
    with pytest.raises(ProducerFenced, match="_TIMED_OUT"):
        producer.begin()


def test_registering_may_be_tried_again(producer: Any) -> None:
    producer._producer.errors = {"init": [RETRIABLE]}

    assert producer.register(1) == "_TIMED_OUT"
    assert producer.register(1) is None


def test_a_fenced_producer_neither_begins_nor_registers_again(producer: Any) -> None:
    producer._producer.errors = {"begin": [FENCED]}

    for call in (producer.begin, producer.begin, lambda: producer.register(1)):
        with pytest.raises(ProducerFenced, match="_FENCED"):
            call()


def test_a_transactional_producer_that_fails_while_it_polls_is_not_replaced(producer: Any) -> None:
    before = producer._producer
    producer._replace()

    assert producer._producer is before
    with pytest.raises(ProducerFenced):
        producer.begin()


def test_a_plain_producer_leaves_the_transactional_id_out(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    monkeypatch.setattr("clusters.kafka.clients.producer.Producer", given.append)
    clients = KafkaClients({NAMESPACE: ""})

    clients.producer({"transactional.id": "mine"}, lambda *_: None)
    clients.transactional_producer({}, "chaoskit-0", lambda *_: None)
    clients.transactional_producer({"transactional.id": "mine"}, "chaoskit-0", lambda *_: None)

    assert [settings.get("transactional.id") for settings in given] == [None, "chaoskit-0", "mine"]


def test_a_transactional_id_is_refused_where_nobody_writes_in_transactions() -> None:
    system: Any = plugins.load("cluster", "kafka", "cluster.system")
    declared = Declared(KafkaOptions(), 3, 3, (Topic("log-0"),), {"transactional.id": "mine"}, {})

    with pytest.raises(BadInput, match=r"workload.producer: transactional.id .* set workload.kind: transactions"):
        system.check(declared)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"acks": 1}, "enable.idempotence"),
        ({"delivery.timeout.ms": 120_000}, "must be set <= `transaction.timeout.ms`"),
    ],
)
def test_settings_that_transactions_do_not_take_are_refused_before_the_start(
    given: dict[str, Any], refusal: str
) -> None:
    system: Any = plugins.load("cluster", "kafka", "cluster.system")

    with pytest.raises(BadInput, match=refusal):
        system.check(Declared(KafkaOptions(), 3, 3, (Topic("log-0"),), given, {}, (Transactions(),)))


def test_null_leaves_the_default_of_librdkafka_for_transactions_too() -> None:
    assert "transaction.timeout.ms" in transactional_settings({}, "x")
    assert "transaction.timeout.ms" not in transactional_settings({"transaction.timeout.ms": None}, "x")
