"""The defaults with which Kafka's own clients are run."""

from __future__ import annotations

from clusters.kafka.java.settings import consumer_settings, producer_settings


def test_the_defaults_are_those_that_kafkas_client_has_too() -> None:
    assert producer_settings({})["delivery.timeout.ms"] == 30_000
    assert "queue.buffering.max.messages" not in producer_settings({})
    assert "delivery.timeout.ms" not in producer_settings({"request.timeout.ms": 1_200_000}), "it follows"
    assert producer_settings({"acks": 1})["enable.idempotence"] is False
    assert consumer_settings({"max.poll.records": None, "auto.offset.reset": "earliest"})["auto.offset.reset"] == "none"
    assert "max.poll.records" not in consumer_settings({"max.poll.records": None})
