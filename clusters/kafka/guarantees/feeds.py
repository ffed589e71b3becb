"""Rules for feeds on Kafka: a subscriber lacks what the log has lost before it was read, and gets what it has twice."""

from __future__ import annotations

from chaoskit.contract.guarantees.guarantee import Rule
from chaoskit.contract.workloads.datamodel import PUBSUB
from clusters.kafka.guarantees.models import of_model
from clusters.kafka.guarantees.sending import acks_zero, retries
from clusters.kafka.guarantees.storing import disks_lost, files_changed, os_flush

FEED_RULES = (
    Rule(
        "kafka.feed-acks-zero",
        ("missed",),
        of_model(PUBSUB, acks_zero),
        "set acks=1 or acks=all",
        "Kafka documentation, producer setting acks",
        "kafka/feed:killed-acks-zero",
        "kafka/feed:killed-acks-one",
    ),
    Rule(
        "kafka.feed-truncated",
        ("lost",),
        of_model(PUBSUB, os_flush, disks_lost, files_changed),
        "set flush.messages=1 (or log.flush.interval.messages=1 on brokers)",
        "Kafka documentation, topic setting flush.messages",
        "kafka/feed:power-os-flush",
        "kafka/feed:power-flush-each",
    ),
    Rule(
        "kafka.feed-retries",
        ("redelivered",),
        of_model(PUBSUB, retries),
        "set enable.idempotence=true",
        "Kafka documentation, producer settings retries and enable.idempotence",
        "kafka/feed:resent",
        "kafka/feed:resent-idempotent",
    ),
)
