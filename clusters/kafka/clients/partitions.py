"""How many partitions topics have, as clients ask brokers."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, Producer


def partition_count(client: Producer | Consumer, topics: Sequence[str], timeout_s: float) -> int | None:
    """Return how many partitions each of these topics has, at least; None if no broker tells in time.

    Asking makes the client itself know them.
    """
    asked = {"topic": topics[0]} if len(topics) == 1 else {}
    try:
        known = client.list_topics(timeout=timeout_s, **asked).topics
    except KafkaException:
        return None
    counts = [0 if known[topic].error else len(known[topic].partitions) for topic in topics if topic in known]
    return min(counts) if len(counts) == len(topics) and all(counts) else None
