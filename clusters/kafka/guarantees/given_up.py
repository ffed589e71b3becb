"""Sends that librdkafka gives up: its idempotent producer then sends again what it still has, as if it were new."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.guarantees.act import LATE, PARTS_CONNECTIONS
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Mechanism, Retry
from chaoskit.contract.guarantees.setting import is_true
from clusters.kafka.clients.settings import resolve_producer
from clusters.kafka.guarantees.sending import PRODUCE
from clusters.kafka.settings import KafkaOptions

TIMEOUT = "delivery.timeout.ms"
_DEFAULT_MS = 300_000
"""librdkafka's own."""


def _given_up(declared: Declared) -> Sequence[Mechanism]:
    options: KafkaOptions = declared.options
    producer = resolve_producer(declared.producer)
    if options.clients != "librdkafka" or not is_true(producer.get("enable.idempotence")):
        return ()
    timeout_ms = float(producer.get(TIMEOUT, _DEFAULT_MS))
    if not timeout_ms:
        return ()
    why = (
        f"{TIMEOUT}={timeout_ms:g}: librdkafka gives sends up that take longer, takes a new epoch, and sends again "
        "with new sequence numbers what was not acknowledged, although brokers may have it"
    )
    longer_ns = int(timeout_ms * MILLISECOND)
    return (Retry(why=why, by=PARTS_CONNECTIONS | LATE, patience_ns=longer_ns, longer_ns=longer_ns, names=PRODUCE),)


GIVEN_UP = Rule(
    "kafka.sends-given-up",
    ("duplicate",),
    _given_up,
    f"set {TIMEOUT} longer than any outage, or clients: java",
    "librdkafka, INTRODUCTION.md, Message timeout considerations",
    "kafka/sends-given-up:librdkafka",
    "kafka/sends-given-up:in-time",
    known="https://github.com/confluentinc/librdkafka/issues/4953",
)
