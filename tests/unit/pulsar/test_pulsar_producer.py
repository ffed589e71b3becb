"""Completions are classified so that only a proof says `fail`; they reach the worker in its own thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pulsar
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.model.outcome import DUPLICATE, FAIL, INFO, OK
from clusters.pulsar.clients.producer import NEVER_SENT, PulsarProducer, classify, resolve_producer
from clusters.pulsar.clients.settings import PRODUCER_DEFAULTS
from clusters.pulsar.positions import pack

DOUBTFUL = [result for result in pulsar.Result.__members__ if result not in (*NEVER_SENT, "Ok")]
"""Results after which an earlier attempt of the same message may have been written."""

Callback = Callable[[Any, Any], None]


@pytest.mark.parametrize("result", NEVER_SENT)
def test_a_result_that_proves_that_nothing_was_written_is_a_failure(result: str) -> None:
    assert result in pulsar.Result.__members__
    assert classify(result) == FAIL
    assert NEVER_SENT[result]


@pytest.mark.parametrize("result", [*DOUBTFUL, "SomethingNew"])
def test_a_result_that_proves_nothing_is_indeterminate(result: str) -> None:
    assert classify(result) == INFO


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ({}, PRODUCER_DEFAULTS),
        ({"batching_enabled": False}, {**PRODUCER_DEFAULTS, "batching_enabled": False}),
        ({"producer_name": "p-0"}, {**PRODUCER_DEFAULTS, "producer_name": "p-0"}),
        ({"compression_type": "LZ4"}, {**PRODUCER_DEFAULTS, "compression_type": pulsar.CompressionType.LZ4}),
        (
            {"batching_max_publish_delay_ms": None},
            {key: value for key, value in PRODUCER_DEFAULTS.items() if key != "batching_max_publish_delay_ms"},
        ),
    ],
)
def test_given_settings_win_over_ours_and_null_leaves_the_library_its_own(
    given: dict[str, Any], resolved: dict[str, Any]
) -> None:
    assert resolve_producer(given) == resolved


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"acks": "all"}, r"workload\.producer\.acks: pulsar-client has no such setting"),
        ({"batching_enable": True}, r'did you mean "batching_enabled"\?'),
        ({"topic": "t"}, r"workload\.producer\.topic: pulsar-client has no such setting"),
        ({"block_if_queue_full": True}, r"workload\.producer\.block_if_queue_full: pulsar-client has no such setting"),
        ({"compression_type": "LZ5"}, r"workload\.producer\.compression_type: there is no 'LZ5'; did you mean"),
        ({"batching_max_messages": 5000}, r"batching_max_messages: positions allow at most 4096; reduce it"),
    ],
)
def test_settings_that_are_of_no_use_are_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput, match=refusal):
        resolve_producer(given)


class FakeClient:
    """A client whose producers keep what they are given until the test completes it."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.sent: list[Callback] = []
        self.refusal: pulsar.PulsarException | None = None
        self.refused_by_call: Any = None

    def create_producer(self, topic: str, **settings: Any) -> FakeClient:
        if self.refusal is not None:
            raise self.refusal
        self.made.append(topic)
        return self

    def send_async(self, payload: bytes, callback: Callback, partition_key: str | None) -> None:
        if self.refused_by_call is not None:
            callback(self.refused_by_call, None)
        else:
            self.sent.append(callback)

    def close(self) -> None:
        for callback in self.sent:
            callback(pulsar.Result.AlreadyClosed, None)
        self.sent = []


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    made = FakeClient()
    monkeypatch.setattr("clusters.pulsar.clients.producer.connect", lambda *_, **_more: made)
    return made


Completion = tuple[int, int, str | None, int | None]


def _producer(seen: list[Completion], **settings: Any) -> PulsarProducer:
    return PulsarProducer({}, settings, lambda *completion: seen.append(completion))


def _id(ledger: int, entry: int, batch_index: int) -> Any:
    return pulsar.MessageId(-1, ledger, entry, batch_index)


def test_a_completion_waits_for_the_thread_of_the_worker(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    assert producer.send("log-0", 2, b"key", b"payload", 7)

    thread = threading.Thread(target=client.sent[0], args=(pulsar.Result.Ok, _id(5, 6, 7)))
    thread.start()
    thread.join()

    assert (seen, producer.pending()) == ([], 1)
    producer.poll(1)
    assert (seen, producer.pending()) == ([(7, OK, None, pack(5, 6, 7))], 0)
    assert client.made == ["persistent://public/default/log-0-partition-2"]


def test_all_that_arrived_is_reported_by_one_poll(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    for token in range(3):
        producer.send("log-0", 0, None, b"x", token)
        client.sent[token](pulsar.Result.Ok, _id(0, token, -1))

    producer.poll(0)

    assert [token for token, *_ in seen] == [0, 1, 2]


def test_a_duplicate_that_the_broker_dropped_is_ok_and_nowhere(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    producer.send("log-0", 0, None, b"x", 1)
    client.sent[0](pulsar.Result.Ok, _id(-1, -1, -1))

    producer.poll(0)

    assert seen == [(1, OK, DUPLICATE, None)]


def test_a_timeout_proves_nothing(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    producer.send("log-0", 0, None, b"x", 1)
    client.sent[0](pulsar.Result.Timeout, None)

    producer.poll(0)

    assert seen == [(1, INFO, "Timeout", None)]


def test_a_message_that_the_client_refuses_within_the_call_has_failed(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    client.refused_by_call = pulsar.Result.MessageTooBig
    producer.send("log-0", 0, None, b"x", 1)

    producer.poll(0)

    assert seen == [(1, FAIL, "MessageTooBig", None)]


def test_without_a_producer_nothing_was_sent(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    client.refusal = pulsar.ConnectError("no broker")

    assert producer.send("log-0", 0, None, b"x", 1)

    assert (seen, producer.pending()) == ([(1, FAIL, "ConnectError", None)], 0)


def test_a_full_queue_hands_nothing_over(client: FakeClient) -> None:
    producer = _producer([], max_pending_messages=1)

    assert producer.send("log-0", 0, None, b"x", 1)
    assert not producer.send("log-0", 0, None, b"x", 2)
    assert len(client.sent) == 1


@pytest.mark.parametrize(("result", "made"), [("ProducerFenced", 2), ("AlreadyClosed", 2), ("Timeout", 1)])
def test_only_a_producer_that_failed_for_good_is_replaced(client: FakeClient, result: str, made: int) -> None:
    producer = _producer([])
    producer.send("log-0", 0, None, b"x", 1)
    client.sent[0](getattr(pulsar.Result, result), None)
    producer.poll(0)

    producer.send("log-0", 0, None, b"x", 2)

    assert len(client.made) == made


def test_what_is_pending_when_the_time_is_over_is_not_known(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    producer.send("log-0", 0, None, b"x", 1)

    producer.close(0)

    assert (seen, producer.pending()) == ([(1, INFO, "AlreadyClosed", None)], 0)


def test_a_poll_waits_no_longer_than_it_is_told(client: FakeClient) -> None:
    producer = _producer([])
    began = time.monotonic()

    producer.poll(0.01)

    assert time.monotonic() - began < 5


def test_every_send_completes_once_for_a_cluster_that_does_not_exist() -> None:
    seen: list[Completion] = []
    connection = {"service_url": "pulsar://127.0.0.1:1"}
    producer = PulsarProducer(connection, {}, lambda *completion: seen.append(completion))

    assert producer.send("log-0", 0, None, b"x", 42)
    producer.close(0)

    assert [(token, outcome) for token, outcome, *_ in seen] == [(42, FAIL)]


def test_a_message_of_chunks_is_acknowledged_without_a_position(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen, chunking_enabled=True, batching_enabled=False)
    producer.send("log-0", 0, None, b"x", 1)
    client.sent[0](pulsar.Result.Ok, _id(5, 6, -1))

    producer.poll(0)

    assert seen == [(1, OK, None, None)]
