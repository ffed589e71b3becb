"""With librdkafka and the broker inside it: a partition whose position was lost begins again, and no other one; what a
rebalance raises can be caught.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from clusters.kafka.clients.consumer import KafkaConsumer

COMMITTED = 50


class _Members:
    def __init__(self) -> None:
        self.owned: list[tuple[str, int]] = []

    def assigned(self, group: str, generation: int | None, partitions: Any) -> None:
        self.owned = list(partitions)

    def revoked(self) -> None:
        """Nothing is kept."""


def _broker() -> tuple[Producer, str]:
    """Return a producer with a broker inside it, and the broker's address."""
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "inside", "security.protocol": "plaintext"})
    brokers = producer.list_topics(timeout=30).brokers.values()
    return producer, ",".join(f"{broker.host}:{broker.port}" for broker in brokers)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_other_partitions_go_on_where_the_group_had_committed(strategy: str) -> None:
    producer, servers = _broker()
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


class _Refusing(_Members):
    """Fails at a revocation as the client itself does: with an exception that C code raised."""

    def __init__(self, consumer: Consumer) -> None:
        super().__init__()
        self._consumer = consumer

    def revoked(self) -> None:
        self._consumer.seek(TopicPartition("log", 0, 0))  # it owns no partition


def test_what_a_rebalance_raises_can_be_caught() -> None:
    producer, servers = _broker()
    producer.produce("log", b"", partition=0)
    assert producer.flush(30) == 0
    connection = {"bootstrap.servers": servers, "group.id": "g"}
    members = _Refusing(Consumer({**connection, "security.protocol": "plaintext"}))
    consumer = KafkaConsumer(connection)
    consumer.subscribe(["log"], members)
    deadline = time.monotonic() + 60
    while not members.owned and time.monotonic() < deadline:
        consumer.poll(0.1, 1)

    with pytest.raises(KafkaException):
        consumer.close()


class _Ended:
    """A client that failed for good: it says so once."""

    def __init__(self) -> None:
        self.said: list[Any] = [SimpleNamespace(error=lambda: KafkaError(KafkaError._FATAL))]

    def poll(self, timeout_s: float) -> Any:
        return self.said.pop() if self.said else None

    def consume(self, count: int, timeout_s: float) -> list[Any]:
        return []


def test_a_consumer_that_failed_for_good_says_so_at_each_poll() -> None:
    consumer = KafkaConsumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    assert consumer.poll(0, 1)[2] is None
    client, stub = consumer._consumer, _Ended()
    consumer._consumer = stub  # type: ignore[assignment]

    assert [consumer.poll(0, 1)[2] for _ in range(3)] == ["_FATAL"] * 3
    client.close()
