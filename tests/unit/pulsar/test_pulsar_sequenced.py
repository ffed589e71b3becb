"""A producer with a name and sequence ids: what it gives to the library, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulsar
import pytest

from chaoskit.contract.clients.client import Unreachable
from chaoskit.model.outcome import DUPLICATE, INFO, OK
from clusters.pulsar.clients.sequenced import PulsarSequencedProducer

Completion = tuple[int, int, str | None, int | None]


class FakeClient:
    """A client whose only producer takes everything and keeps the callbacks."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.sent: list[tuple[int, Callable[[Any, Any], None]]] = []
        self.refusal: pulsar.PulsarException | None = None
        self.closed = False

    def create_producer(self, topic: str, **settings: Any) -> FakeClient:
        if self.refusal is not None:
            raise self.refusal
        self.settings = settings
        return self

    def send_async(self, payload: bytes, callback: Any, partition_key: str | None, sequence_id: int) -> None:
        self.sent.append((sequence_id, callback))

    def last_sequence_id(self) -> int:
        return 41

    def close(self) -> None:
        self.closed = True
        raise pulsar.AlreadyClosed("it was already")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    made = FakeClient()
    monkeypatch.setattr("clusters.pulsar.clients.producer.connect", lambda *_, **_more: made)
    return made


def _producer(seen: list[Completion], **settings: Any) -> PulsarSequencedProducer:
    return PulsarSequencedProducer({}, settings, "chaoskit-3", lambda *completion: seen.append(completion))


def test_messages_carry_their_sequence_under_the_name(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen, batching_enabled=False)
    assert producer.send_as("log-0", 0, None, b"x", 7, 1)
    client.sent[0][1](pulsar.Result.Ok, pulsar.MessageId(-1, -1, -1, -1))
    producer.poll(0)

    assert [sequence for sequence, _ in client.sent] == [1]
    assert client.settings["producer_name"] == "chaoskit-3"
    assert seen == [(7, OK, DUPLICATE, None)]


def test_settings_may_name_it_otherwise(client: FakeClient) -> None:
    _producer([], producer_name="mine").send_as("log-0", 0, None, b"x", 7, 1)

    assert client.settings["producer_name"] == "mine"


def test_the_last_sequence_is_that_of_the_library(client: FakeClient) -> None:
    assert _producer([]).last_sequence("log-0", 0) == 41


def test_who_cannot_connect_cannot_ask(client: FakeClient) -> None:
    client.refusal = pulsar.ProducerBusy("the one before is still connected")

    with pytest.raises(Unreachable, match="ProducerBusy"):
        _producer([]).last_sequence("log-0", 0)


def test_what_an_abandoned_client_had_under_way_is_unknown(client: FakeClient) -> None:
    seen: list[Completion] = []
    producer = _producer(seen)
    producer.send_as("log-0", 0, None, b"x", 7, 1)
    producer.abandon()

    assert client.closed
    assert (seen, producer.pending()) == ([(7, INFO, "AlreadyClosed", None)], 0)


class Builder:
    """Takes what the library sets of a message."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def content(self, data: bytes) -> None:
        """Whatever it is."""

    def sequence_id(self, given: int) -> None:
        self.told.append(given)

    def build(self) -> list[int]:
        return self.told


class Sink:
    """The library's producer, told of messages that are built."""

    def send_async(self, built: list[int], callback: Any) -> None:
        callback(built, None)


@pytest.mark.parametrize(("given", "sequences"), [(0, []), (1, [1])])
def test_the_library_takes_a_sequence_of_zero_for_none(
    given: int, sequences: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why ours begin at one: of the library itself only what it calls is replaced."""
    monkeypatch.setattr("pulsar._pulsar.MessageBuilder", Builder)
    producer: Any = pulsar.Producer()
    producer._schema, producer._producer = pulsar.schema.BytesSchema(), Sink()
    seen: list[list[int]] = []
    producer.send_async(b"x", lambda built, _: seen.append(built), sequence_id=given)

    assert seen == [sequences]
