"""Kafka as a feed: a subscriber reads each topic from its end on, without a group.

It is subscribed once it knows the end: what is appended from then on comes to it, whoever leads the partition.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from chaoskit.contract.clients.feed import SubscriptionChange
from chaoskit.model.message import Delivery
from chaoskit.model.observations.feed import Promise
from clusters.kafka.clients.consumer import KafkaConsumer
from clusters.kafka.clients.settings import resolve_producer

_ASKED_S = 2.0


def promise(publishing: Mapping[str, Any]) -> Promise:
    """Return what is promised of what is published with these settings: without acknowledgements nothing is."""
    unacknowledged = str(resolve_producer(publishing).get("acks")) == "0"
    return Promise("at-most-once" if unacknowledged else "at-least-once", lasting=False)


class KafkaFeedSubscriber:
    """See `chaoskit.contract.clients.feed.FeedSubscriber`.

    Args:
        settings: librdkafka's, with `group.id`, which is not used.
        topics: its topics.
    """

    def __init__(self, settings: Mapping[str, Any], topics: Sequence[str]) -> None:
        self._topics = topics
        self._reader = _Reader(settings)
        self._changes: list[SubscriptionChange] = []
        self._subscribed = False
        self._subscribe()

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        if not self._subscribed and (error := self._subscribe()):
            return [], error
        began_ns = time.monotonic_ns()
        deliveries, lost, error = self._reader.poll(timeout_s, messages_max)
        if lost:
            self._end(began_ns)
            return deliveries, lost[0].error
        return deliveries, error

    def changes(self) -> list[SubscriptionChange]:
        changes, self._changes = self._changes, []
        return changes

    def close(self, *, abruptly: bool = False) -> None:
        if self._subscribed:
            self._end(time.monotonic_ns())
        self._reader.close()

    def _subscribe(self) -> str | None:
        """Go to the end of all topics; return why that did not succeed."""
        since_ns = time.monotonic_ns()
        try:
            self._reader.go_to_end(self._topics)
        except KafkaException as error:
            return str(error.args[0].name())
        now_ns = time.monotonic_ns()
        self._changes += [SubscriptionChange("subscribed", topic, since_ns, now_ns) for topic in self._topics]
        self._subscribed = True
        return None

    def _end(self, since_ns: int) -> None:
        now_ns = time.monotonic_ns()
        self._changes += [SubscriptionChange("unsubscribed", topic, since_ns, now_ns) for topic in self._topics]
        self._subscribed = False


class _Reader(KafkaConsumer):
    def go_to_end(self, topics: Sequence[str]) -> None:
        """Read on from the end that each topic has now.

        Raises:
            KafkaException: a broker did not tell it.
        """
        places = [TopicPartition(topic, 0) for topic in topics]
        for place in places:
            place.offset = self._consumer.get_watermark_offsets(place, _ASKED_S)[1]
        self._consumer.assign(places)
