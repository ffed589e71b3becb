"""A partition whose position was lost begins again, and no other one: with librdkafka and the broker inside it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from clusters.kafka.clients.consumer import KafkaConsumer

COMMITTED = 50


class _Members:
    def __init__(self) -> None:
        self.owned: list[tuple[str, int]] = []

    def assigned(self, group: str, generation: int | None, partitions: Any) -> None:
        self.owned = list(partitions)

    def revoked(self) -> None:
        """Nothing is kept."""


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_other_partitions_go_on_where_the_group_had_committed(strategy: str) -> None:
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "inside", "security.protocol": "plaintext"})
    brokers = producer.list_topics(timeout=30).brokers.values()
    servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    for number in range(400):
        producer.produce("log", b"%d" % number, partition=number % 4)
    assert producer.flush(30) == 0
    before = Consumer({"bootstrap.servers": servers, "group.id": "g", "security.protocol": "plaintext"})
    before.commit(offsets=[TopicPartition("log", number, COMMITTED) for number in range(4)], asynchronous=False)
    before.close()

    consumer = KafkaConsumer({"bootstrap.servers": servers, "group.id": "g", "partition.assignment.strategy": strategy})
    members = _Members()
    consumer.subscribe(["log"], members)
    firsts: dict[int, int] = {}
    deadline = time.monotonic() + 60
    while not members.owned and time.monotonic() < deadline:
        consumer.hold(paused=True)
        consumer.poll(0.1, 1)
    consumer.seek_to_beginning("log", 0)
    consumer.hold(paused=False)
    while len(firsts) < 4 and time.monotonic() < deadline:
        deliveries, _, _ = consumer.poll(0.1, 100)
        for delivery in deliveries:
            firsts.setdefault(delivery.partition, delivery.position)
    consumer.close()

    assert firsts == {0: 0, 1: COMMITTED, 2: COMMITTED, 3: COMMITTED}
