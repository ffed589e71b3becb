"""Consumers of subscriptions of every type: how they join, acknowledge, refuse and end."""

from __future__ import annotations

from typing import Any

import pulsar
import pytest

from chaoskit.model.message import Delivery
from chaoskit.model.observations.subscription import SUBSCRIPTION_TYPES
from chaoskit.model.outcome import FAIL, INFO
from clusters.pulsar.clients.settings import NAMESPACE
from clusters.pulsar.clients.subscriber import TYPES, PulsarSubscriber


class FakeMessage:
    """A message at an entry."""

    def __init__(self, entry: int) -> None:
        self.entry = entry

    def message_id(self) -> Any:
        return pulsar.MessageId(-1, 1, self.entry, -1)

    def partition_key(self) -> str:
        return "k"

    def data(self) -> bytes:
        return b"x"

    def redelivery_count(self) -> int:
        return 2


class FakeClient:
    """A client, and at once the consumer that it makes, with some messages."""

    def __init__(self, count: int = 3) -> None:
        self.messages = [FakeMessage(entry) for entry in range(count)]
        self.joined: dict[str, Any] = {}
        self.settled: list[tuple[str, int]] = []
        self.refusal: pulsar.PulsarException | None = None
        self.closed = 0

    def subscribe(self, topic: str, name: str, **settings: Any) -> FakeClient:
        self.joined = {"topic": topic, "name": name, **settings}
        return self

    def receive(self, timeout_ms: int) -> FakeMessage:
        if not self.messages:
            raise pulsar.Timeout("nothing there")
        return self.messages.pop(0)

    def acknowledge(self, message: FakeMessage) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.settled.append(("ack", message.entry))

    def acknowledge_cumulative(self, message: FakeMessage) -> None:
        self.settled.append(("ack-cumulative", message.entry))

    def negative_acknowledge(self, message: FakeMessage) -> None:
        self.settled.append(("nack", message.entry))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    made = FakeClient()
    monkeypatch.setattr("clusters.pulsar.clients.consumer.connect", lambda _: made)
    return made


def _given(kind: str = "shared", **settings: Any) -> tuple[PulsarSubscriber, list[Delivery]]:
    subscriber = PulsarSubscriber({NAMESPACE: ""}, settings, kind)
    subscriber.join([("log-0", 1)])
    return subscriber, subscriber.poll(0, 10)[0]


def test_every_type_of_a_history_is_one_of_pulsar() -> None:
    assert set(TYPES) == set(SUBSCRIPTION_TYPES)
    assert set(TYPES.values()) == set(pulsar.ConsumerType.__members__.values())


@pytest.mark.parametrize("kind", SUBSCRIPTION_TYPES)
def test_it_joins_as_its_type_from_the_beginning(client: FakeClient, kind: str) -> None:
    _, deliveries = _given(kind)

    assert client.joined["consumer_type"] == TYPES[kind]
    assert client.joined["initial_position"] == pulsar.InitialPosition.Earliest
    assert client.joined["topic"] == "persistent://public/default/log-0-partition-1"
    assert client.joined["negative_ack_redelivery_delay_ms"] == 1000
    assert [(delivery.partition, delivery.key, delivery.delivery) for delivery in deliveries] == [(1, b"k", 2)] * 3


def test_given_settings_win(client: FakeClient) -> None:
    _given(negative_ack_redelivery_delay_ms=5, unacked_messages_timeout_ms=10_000)

    assert client.joined["negative_ack_redelivery_delay_ms"] == 5
    assert client.joined["unacked_messages_timeout_ms"] == 10_000


@pytest.mark.parametrize("how", ["ack", "nack", "ack-cumulative"])
def test_what_was_handed_over_has_no_receipt(client: FakeClient, how: Any) -> None:
    subscriber, deliveries = _given()

    assert subscriber.settle(deliveries[2:], how) == (INFO, "NoReceipt")
    assert client.settled == [(how, 2)]


def test_a_message_is_settled_once_and_may_come_again(client: FakeClient) -> None:
    subscriber, deliveries = _given()
    subscriber.settle(deliveries[:1], "nack")
    client.messages = [FakeMessage(0)]
    again = subscriber.poll(0, 10)[0]
    subscriber.settle(again, "ack")

    assert client.settled == [("nack", 0), ("ack", 0)]


def test_a_message_that_came_twice_is_settled_once(client: FakeClient) -> None:
    subscriber, deliveries = _given()

    assert subscriber.settle([deliveries[0], deliveries[0]], "ack") == (INFO, "NoReceipt")
    assert client.settled == [("ack", 0)]


def test_what_the_library_refuses_has_failed(client: FakeClient) -> None:
    subscriber, deliveries = _given()
    client.refusal = pulsar.AlreadyClosed("gone")

    assert subscriber.settle(deliveries, "ack") == (FAIL, "AlreadyClosed")


@pytest.mark.parametrize("abruptly", [True, False])
def test_it_ends_once(client: FakeClient, abruptly: bool) -> None:
    subscriber, _ = _given()
    subscriber.close(abruptly=abruptly)

    assert client.closed == 1
