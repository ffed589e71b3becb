"""Completions are classified so that only a proof says `fail`; settings in force are known."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from chaoskit.model.outcome import FAIL, INFO
from clusters.kafka.clients.clients import KafkaClients
from clusters.kafka.clients.producer import NEVER_SENT, KafkaProducer, classify
from clusters.kafka.clients.settings import PRODUCER_DEFAULTS, resolve_producer
from clusters.kafka.connection import BOOTSTRAP, NAMESPACE
from clusters.kafka.system import KafkaSystem

DOUBTFUL = [
    "_MSG_TIMED_OUT", "_TIMED_OUT", "_TRANSPORT", "_PURGE_INFLIGHT", "_FATAL", "_FAIL", "_STATE",
    "UNKNOWN", "INVALID_MSG", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "BROKER_NOT_AVAILABLE", "NETWORK_EXCEPTION",
    "KAFKA_STORAGE_ERROR", "OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH",
    "UNKNOWN_TOPIC_OR_PART", "POLICY_VIOLATION",
]  # fmt: skip
"""Errors after which an earlier attempt of the same message may have been appended."""


@pytest.mark.parametrize("code", NEVER_SENT)
def test_an_error_that_proves_that_nothing_was_written_is_a_failure(code: int) -> None:
    assert classify(code) == FAIL
    assert NEVER_SENT[code]


@pytest.mark.parametrize("name", DOUBTFUL)
def test_an_error_that_proves_nothing_is_indeterminate(name: str) -> None:
    assert classify(getattr(KafkaError, name)) == INFO


@pytest.mark.parametrize("code", [-99999, 99999])
def test_an_error_that_nobody_knows_is_indeterminate(code: int) -> None:
    assert classify(code) == INFO


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {}),
        ({"acks": "all"}, {}),
        ({"acks": -1}, {"acks": -1}),
        ({"acks": "1"}, {"acks": "1", "enable.idempotence": False}),
        ({"acks": 0}, {"acks": 0, "enable.idempotence": False}),
        ({"request.required.acks": 1}, {"acks": 1, "enable.idempotence": False}),
        ({"acks": 1, "enable.idempotence": True}, {"acks": 1}),
        ({"enable.idempotence": False}, {"enable.idempotence": False}),
        ({"linger.ms": 0, "batch.size": 9}, {"linger.ms": 0, "batch.size": 9}),
        ({"message.timeout.ms": 5}, {"delivery.timeout.ms": 5}),
        ({"max.in.flight": 1}, {"max.in.flight.requests.per.connection": 1}),
    ],
)
def test_given_settings_win_over_our_defaults(given: dict[str, Any], changed: dict[str, Any]) -> None:
    assert resolve_producer(given) == {**PRODUCER_DEFAULTS, **changed}


@pytest.mark.parametrize("key", ["acks", "enable.idempotence", "linger.ms"])
def test_null_leaves_the_default_of_librdkafka(key: str) -> None:
    assert resolve_producer({key: None}) == {name: value for name, value in PRODUCER_DEFAULTS.items() if name != key}


@pytest.mark.parametrize("given", [{}, {"acks": 1}, {"message.timeout.ms": 900}, {"request.required.acks": 0}])
def test_librdkafka_takes_the_settings_in_force(given: dict[str, Any]) -> None:
    settings = {**given, "request.timeout.ms": 800, "delivery.timeout.ms": 900}
    settings.pop("delivery.timeout.ms" if "message.timeout.ms" in given else "message.timeout.ms", None)

    KafkaProducer(resolve_producer(settings), lambda *_: None).close(0)


def _completions(**settings: Any) -> list[tuple[int, int, str | None, int | None]]:
    """Return what becomes of one message for a cluster that does not exist (port 1 refuses)."""
    seen: list[tuple[int, int, str | None, int | None]] = []
    clients = KafkaClients({BOOTSTRAP: "127.0.0.1:1", NAMESPACE: ""})
    producer = clients.producer(settings, lambda *completion: seen.append(completion))
    assert producer.send("t", 0, None, b"x" * 100, 42)
    producer.close(0.01)
    assert producer.pending() == 0
    return seen


def test_a_message_too_large_for_the_client_fails_at_once() -> None:
    seen: list[tuple[int, int, str | None, int | None]] = []
    clients = KafkaClients({BOOTSTRAP: "127.0.0.1:1", NAMESPACE: ""})
    producer = clients.producer({"message.max.bytes": 1000}, lambda *completion: seen.append(completion))

    assert producer.send("t", 0, None, b"x" * 2000, 42)

    assert seen == [(42, FAIL, "MSG_SIZE_TOO_LARGE", None)]
    producer.close(0)


def test_every_send_completes_once_when_the_producer_is_closed() -> None:
    began = time.monotonic()

    completions = _completions()

    assert [token for token, *_ in completions] == [42]
    assert completions[0][1] in (FAIL, INFO)
    assert time.monotonic() - began < 5


def test_a_full_queue_hands_nothing_over() -> None:
    clients = KafkaClients({BOOTSTRAP: "127.0.0.1:1", NAMESPACE: ""})
    producer = clients.producer({"queue.buffering.max.messages": 1}, lambda *_: None)

    assert producer.send("t", 0, None, b"x", 1)
    assert not producer.send("t", 0, None, b"x", 2)
    producer.close(0)


class FailingProducer:
    """A producer that fails for good: every call raises, but for `purge`, which reports what was under way."""

    made = 0

    def __init__(self, settings: dict[str, Any]) -> None:
        FailingProducer.made += 1
        self.number = FailingProducer.made
        self.waiting: list[Any] = []

    def produce(self, topic: str, payload: bytes, key: bytes | None, partition: int, report: Any) -> None:
        self.waiting.append(report)

    def poll(self, timeout_s: float) -> int:
        if self.number == 1:
            raise KafkaException(KafkaError(KafkaError._FATAL, fatal=True))
        return 0

    def purge(self, **options: bool) -> None:
        for report in self.waiting:
            report(KafkaError(KafkaError._PURGE_INFLIGHT), None)
        self.waiting = []

    def flush(self, timeout_s: float) -> int:
        return self.poll(timeout_s)

    def __len__(self) -> int:
        return len(self.waiting)


def test_a_producer_that_failed_for_good_is_replaced_and_leaves_nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusters.kafka.clients.producer.Producer", FailingProducer)
    completed: list[tuple[Any, ...]] = []
    producer = KafkaProducer({}, lambda *completion: completed.append(completion))
    producer.send("log-0", 0, None, b"x", 7)

    producer.poll(0)

    assert completed == [(7, INFO, "_PURGE_INFLIGHT", None)]
    producer.send("log-0", 0, None, b"x", 8)
    producer.poll(0)
    assert (FailingProducer.made, producer.pending()) == (2, 1)


@pytest.mark.parametrize(("settings", "name"), [({}, b"producer-0"), ({"client.id": "payments"}, b"payments")])
def test_a_client_tells_its_name_unless_the_scenario_gives_another_one(settings: dict[str, str], name: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        clients = KafkaClients(KafkaSystem().named({BOOTSTRAP: address, NAMESPACE: ""}, "producer-0"))
        producer = clients.producer(settings, lambda *_: None)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(30)
            first = connection.recv(4096)
        producer.close(0)

    assert name in first
