"""Clients of streams without a node: how messages are written, how completions are classified, what is handed over."""

from __future__ import annotations

from typing import Any

import pytest
from rstream import schema

from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from clusters.rabbitmq.connection import Addresses
from clusters.rabbitmq.streams.consumer import ReaderLink
from clusters.rabbitmq.streams.messages import decoded, encoded
from clusters.rabbitmq.streams.names import place_of, stream_name
from clusters.rabbitmq.streams.publisher import _PublisherLink


@pytest.mark.parametrize("key", [None, b"key-1"])
def test_a_message_comes_back_as_it_was_written(key: bytes | None) -> None:
    assert decoded(encoded(key, b"payload" * 50)) == (key, b"payload" * 50)


def test_a_partition_has_a_stream_of_its_own() -> None:
    assert place_of(stream_name("t-1-log-0", 12)) == ("t-1-log-0", 12)


class _Told(list[tuple[int, int, str | None]]):
    def __call__(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None:
        self.append((token, outcome, error))


@pytest.fixture
def completions() -> _Told:
    return _Told()


def _publisher(completions: _Told) -> Any:
    return _PublisherLink(Addresses(["10.0.0.1"], 0), "log-0-0", {}, completions, "")


def test_a_send_without_a_connection_failed(completions: _Told) -> None:
    _publisher(completions).publish(1, b"", 7)

    assert completions == [(7, FAIL, "not connected")]


def test_confirmed_is_ok_refused_failed_and_the_rest_of_a_lost_connection_is_unknown(completions: _Told) -> None:
    link = _publisher(completions)
    link.client = link.latest = object()
    for number in range(1, 5):
        link.publish(number, b"", 10 + number)

    link._confirmed(link.latest, schema.PublishConfirm(1, [2, 1]))
    link._refused(link.latest, schema.PublishError(1, [schema.PublishingError(3, 6)]))
    link._confirmed(object(), schema.PublishConfirm(1, [4]))
    link.lost("ConnectionClosed")
    link._confirmed(link.latest, schema.PublishConfirm(1, [4]))

    assert completions == [
        (12, OK, None),
        (11, OK, None),
        (13, FAIL, "StreamNotAvailable"),
        (14, INFO, "ConnectionClosed"),
    ]


def test_a_reader_goes_on_after_what_it_handed_over() -> None:
    link = ReaderLink(Addresses(["10.0.0.1"], 0), "log-0-3", {})
    link.chunks.append((0, [encoded(None, b"a"), encoded(b"k", b"b")]))

    first = link.take(10)
    link.chunks.append((0, [encoded(None, b"a"), encoded(b"k", b"b"), encoded(None, b"c")]))

    assert [(delivery.topic, delivery.partition, delivery.payload, delivery.position) for delivery in first] == [
        ("log-0", 3, b"a", 0),
        ("log-0", 3, b"b", 1),
    ]
    assert [(delivery.payload, delivery.position) for delivery in link.take(10)] == [(b"c", 2)]
    link.lost("HeartbeatTimeout")
    assert (link.next, link.told(), link.told()) == (3, "HeartbeatTimeout", "")
