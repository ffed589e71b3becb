"""Clients of queues: how much a consumer takes, what becomes of what it settles, and which messages wait."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import pulsar
import pytest

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.outcome import INFO, OK
from clusters.pulsar.clients import queue_consumer
from clusters.pulsar.clients.queue_consumer import PulsarQueueConsumer, death_of
from clusters.pulsar.clients.queue_publisher import PulsarPublisher
from clusters.pulsar.clients.queues import QUEUES
from clusters.pulsar.clients.settings import NAMESPACE

LIMITED = {"delivery-limit": 3, "dead-letters": 1}


class FakeMessage:
    """A message that was returned twice."""

    def __init__(self, number: int) -> None:
        self.number = number

    def data(self) -> bytes:
        return str(self.number).encode()

    def properties(self) -> dict[str, str]:
        return {}

    def redelivery_count(self) -> int:
        return 2


class FakeClient:
    """A client, and at once its consumer of each queue, with some messages."""

    def __init__(self, count: int = 6) -> None:
        self.messages = [FakeMessage(number) for number in range(count)]
        self.subscribed: dict[str, Any] = {}
        self.settled: list[tuple[str, int]] = []
        self.connected = True
        self.refusals: list[pulsar.PulsarException] = []
        self.closed = 0

    def subscribe(self, topic: str, name: str, **settings: Any) -> FakeClient:
        if self.refusals:
            raise self.refusals.pop()
        self.subscribed[topic] = {"name": name, **settings}
        return self

    def receive(self, timeout_ms: int) -> FakeMessage:
        if self.refusals:
            raise self.refusals.pop()
        if not self.messages:
            raise pulsar.Timeout("nothing there")
        return self.messages.pop(0)

    def is_connected(self) -> bool:
        return self.connected

    def acknowledge(self, message: FakeMessage) -> None:
        if self.refusals:
            raise self.refusals.pop()
        self.settled.append(("ack", message.number))

    def negative_acknowledge(self, message: FakeMessage) -> None:
        self.settled.append(("nack", message.number))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    made = FakeClient()
    monkeypatch.setattr("clusters.pulsar.clients.queue_consumer.connect", lambda _: made)
    return made


def _consumer(prefetch: int = 0, **queues: Any) -> PulsarQueueConsumer:
    queues = queues or {"q": {}}
    consumer = PulsarQueueConsumer({"brokers": [], NAMESPACE: "t-", QUEUES: queues}, {}, prefetch)
    consumer.consume(list(queues))
    return consumer


def test_a_queue_is_a_partition_with_a_shared_subscription(client: FakeClient) -> None:
    _consumer().poll(0, 1)

    (settings,) = client.subscribed.values()
    assert list(client.subscribed) == ["persistent://public/default/q-partition-0"]
    assert (settings["name"], settings["consumer_type"]) == ("t-chaoskit", pulsar.ConsumerType.Shared)
    assert settings["negative_ack_redelivery_delay_ms"] == 1000
    assert "dead_letter_policy" not in settings


def test_what_is_returned_too_often_goes_to_the_queue_of_dead_letters(client: FakeClient) -> None:
    _consumer(q=LIMITED).poll(0, 1)

    policy = client.subscribed["persistent://public/default/q-partition-0"]["dead_letter_policy"]
    assert policy.max_redeliver_count == 3
    assert policy.dead_letter_topic == "persistent://public/default/q.dead-partition-0"


def test_deliveries_are_told_with_how_often_they_came_before(client: FakeClient) -> None:
    arrivals, error = _consumer().poll(0, 2)

    assert error is None
    assert [(arrival.delivery.topic, arrival.delivery.payload, arrival.delivery.delivery) for arrival in arrivals] == [
        ("q", b"0", 2),
        ("q", b"1", 2),
    ]


@pytest.mark.parametrize(("prefetch", "fetched", "taken"), [(0, 1000, 6), (1, 1, 1), (5, 5, 5), (100, 100, 6)])
def test_a_consumer_takes_as_many_as_its_prefetch_and_fetches_as_many_ahead(
    client: FakeClient, prefetch: int, fetched: int, taken: int
) -> None:
    consumer = _consumer(prefetch)

    arrivals, _ = consumer.poll(0, 100)

    (settings,) = client.subscribed.values()
    assert (settings["receiver_queue_size"], len(arrivals)) == (fetched, taken)


def test_a_consumer_takes_more_once_it_settled_something(client: FakeClient) -> None:
    consumer = _consumer(2)
    (first, second), _ = consumer.poll(0, 100)
    assert consumer.poll(0.01, 100) == ([], None)

    assert consumer.settle([first.tag], "ack") == (OK, None)
    assert consumer.settle([second.tag], "nack") == (OK, None)

    assert [arrival.delivery.payload for arrival in consumer.poll(0, 100)[0]] == [b"2", b"3"]
    assert client.settled == [("ack", 0), ("nack", 1)]


def test_what_is_settled_without_a_connection_may_not_arrive(client: FakeClient) -> None:
    consumer = _consumer()
    arrivals, _ = consumer.poll(0, 2)
    client.connected = False

    assert consumer.settle([arrivals[0].tag], "ack") == (INFO, "NotConnected")

    client.refusals = [pulsar.AlreadyClosed("gone")]
    assert consumer.settle([arrivals[1].tag], "ack") == (INFO, "AlreadyClosed")


def test_a_queue_that_cannot_be_reached_is_tried_again(client: FakeClient) -> None:
    consumer = _consumer()
    client.refusals = [pulsar.ConnectError("no broker")]

    assert consumer.poll(0.01, 1) == ([], "ConnectError")
    assert len(consumer.poll(0, 1)[0]) == 1
    client.refusals = [pulsar.AlreadyClosed("gone")]
    assert consumer.poll(0, 1) == ([], "AlreadyClosed")


def test_one_of_several_queues_is_waited_for_at_a_time(client: FakeClient) -> None:
    client.messages = []
    consumer = _consumer(q={}, r={})

    assert consumer.poll(0.02, 10) == ([], None)
    assert len(client.subscribed) == 2
    assert list(consumer.changes()) == []


def test_what_is_left_is_what_nobody_acknowledged(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = _consumer()
    monkeypatch.setattr(consumer, "_admin", _Admin((7, 1)))
    assert consumer.left("q") == (7, 1)

    monkeypatch.setattr(consumer, "_admin", _Admin(ServiceError("no broker")))
    with pytest.raises(Unreachable, match="queue q: no broker"):
        consumer.left("q")


class _Admin:
    def __init__(self, answer: tuple[int, int] | ServiceError) -> None:
        self._told = answer

    def backlog(self, topic: str, partition: int, subscription: str, timeout_s: float) -> tuple[int, int]:
        assert (topic, partition, subscription) == ("q", 0, "t-chaoskit")
        if isinstance(self._told, ServiceError):
            raise self._told
        return self._told


@pytest.mark.parametrize("abruptly", [False, True])
def test_a_consumer_closes_its_client(client: FakeClient, abruptly: bool) -> None:
    _consumer().close(abruptly=abruptly)

    assert client.closed == 1


def test_a_crash_ends_the_connections_to_brokers_and_no_others(
    client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected() -> tuple[socket.socket, socket.socket, int]:
        server = socket.create_server(("127.0.0.1", 0))
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        port: int = server.getsockname()[1]
        server.close()
        return ours, theirs, port

    ours, broker, port = connected()
    others, stranger, _ = connected()
    with ours, broker, others, stranger:
        monkeypatch.setattr(queue_consumer, "BROKER_PORT", port)
        _consumer().close(abruptly=True)

        assert broker.recv(1) == b""
        others.send(b"x")
        assert stranger.recv(1) == b"x"


@pytest.mark.parametrize(
    ("properties", "death"),
    [
        ({}, None),
        ({"REAL_TOPIC": "persistent://public/default/t-queue-0-partition-0"}, ("delivery_limit", "t-queue-0", 1)),
    ],
)
def test_a_dead_letter_tells_where_it_was(properties: dict[str, str], death: tuple[str, str, int] | None) -> None:
    assert death_of(properties) == death


class FakeProducers:
    """A client whose producers confirm everything at once."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.settings: dict[str, Any] = {}

    def create_producer(self, topic: str, **settings: Any) -> FakeProducers:
        self.settings = settings
        return self

    def send_async(self, payload: bytes, callback: Any, **more: Any) -> None:
        self.sent.append(more)
        callback(pulsar.Result.Ok, pulsar.MessageId(-1, 5, 6, -1))

    def close(self) -> None:
        pass


def test_messages_wait_where_their_queue_says_so_and_have_no_position(monkeypatch: pytest.MonkeyPatch) -> None:
    client, seen = FakeProducers(), []
    monkeypatch.setattr("clusters.pulsar.clients.producer.connect", lambda *_, **_more: client)
    publisher = PulsarPublisher(
        {QUEUES: {"slow": {"delay": 1500}, "fast": {}}}, {}, lambda *completion: seen.append(completion)
    )

    assert publisher.send("slow", 0, None, b"x", 1)
    assert publisher.publish("fast", b"x", 2, None)
    publisher.poll(0)

    assert client.sent == [
        {"partition_key": None, "deliver_after": timedelta(milliseconds=1500)},
        {"partition_key": None},
    ]
    assert client.settings["batching_enabled"] is False
    assert seen == [(1, OK, None, None, None), (2, OK, None, None, None)]
