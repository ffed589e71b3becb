"""Sends that librdkafka gives up: its idempotent producer then sends again what it still has, as if it were new."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.guarantee import Declared, Effect, Rule
from clusters.common.effects import longest_ns
from clusters.common.properties import is_true
from clusters.kafka.producer import resolve_producer
from clusters.kafka.settings import KafkaOptions

TIMEOUT = "delivery.timeout.ms"
_DEFAULT_MS = 300_000
"""librdkafka's own."""


def _given_up(declared: Declared, effects: Sequence[Effect]) -> str:
    options: KafkaOptions = declared.options
    producer = resolve_producer(declared.producer)
    if options.clients != "librdkafka" or not is_true(producer.get("enable.idempotence")):
        return ""
    timeout_ms = float(producer.get(TIMEOUT, _DEFAULT_MS))
    if not timeout_ms or longest_ns(declared, effects) < timeout_ms * MILLISECOND:
        return ""
    return (
        f"a fault lasted longer than {TIMEOUT}={timeout_ms:g}: librdkafka gives sends up, takes a new epoch, and sends "
        "again with new sequence numbers what was not acknowledged, although brokers may have it"
    )


GIVEN_UP = Rule(
    "kafka.sends-given-up",
    ("duplicate",),
    _given_up,
    f"set {TIMEOUT} longer than any outage, or clients: java",
    "librdkafka, INTRODUCTION.md, Message timeout considerations",
    "kafka/sends-given-up:librdkafka",
    "kafka/sends-given-up:in-time",
    anywhere=True,
    copies=True,
    known="https://github.com/confluentinc/librdkafka/issues/4953",
)
