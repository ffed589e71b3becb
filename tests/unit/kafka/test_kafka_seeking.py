"""Consumers that go back to a time or a position."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from clusters.kafka.clients.consumer import KafkaConsumer

PLACE = ("log-0", 0)


class Library:
    """A consumer of the client library, whose broker has messages from a time on."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.sought: list[tuple[str, int, int]] = []
        self.failure: int | None = None

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if self.failure is not None:
            raise KafkaException(KafkaError(self.failure))
        return [
            TopicPartition(partition.topic, partition.partition, 7 if partition.offset <= 1000 else -1)
            for partition in wanted
        ]

    def seek(self, target: TopicPartition) -> None:
        if target.partition != 0:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.sought.append((target.topic, target.partition, target.offset))


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> KafkaConsumer:
    monkeypatch.setattr("clusters.kafka.clients.consumer.Consumer", Library)
    return KafkaConsumer({"group.id": "g"})


def library(consumer: KafkaConsumer) -> Library:
    inner = consumer._consumer
    assert isinstance(inner, Library)
    return inner


def test_a_position_is_sought_as_it_is(consumer: KafkaConsumer) -> None:
    assert consumer.seek_to(PLACE, 5) is None
    assert library(consumer).sought == [(*PLACE, 5)]


def test_a_time_is_where_the_broker_says_that_it_is(consumer: KafkaConsumer) -> None:
    assert consumer.seek_to_time(PLACE, 1000) is None
    assert library(consumer).sought == [(*PLACE, 7)]


def test_where_nothing_is_as_late_there_is_nothing_to_go_back_to(consumer: KafkaConsumer) -> None:
    assert consumer.seek_to_time(PLACE, 1001) is None
    assert library(consumer).sought == []


def test_what_failed_is_told_by_its_name(consumer: KafkaConsumer) -> None:
    assert consumer.seek_to(("log-0", 1), 5) == "_STATE"
    library(consumer).failure = KafkaError._TIMED_OUT
    assert consumer.seek_to_time(PLACE, 5) == "_TIMED_OUT"
