"""What Kafka's producer settings allow: messages that are acknowledged too early, written twice, or out of order."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantee import Declared, Effect
from clusters.common.effects import disturbed, hosts_hit
from clusters.common.properties import is_true
from clusters.kafka.producer import resolve_producer


def acks(declared: Declared) -> str:
    """Return the producers' `acks`: `0`, `1` or `all`."""
    asked = str(resolve_producer(declared.producer).get("acks", "all"))
    return "all" if asked == "-1" else asked


def acks_zero(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why acknowledged messages may not be there with acks=0."""
    if acks(declared) != "0" or not disturbed(effects):
        return ""
    return "acks=0: a send is acknowledged as soon as it is written to the socket, before any broker has it"


def acks_zero_order(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why messages may arrive out of order with acks=0."""
    if acks(declared) != "0":
        return ""
    return "acks=0: a send is acknowledged before any broker has it, so a later one may arrive first"


def acks_one(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why the leader's acknowledgement alone did not keep a message."""
    if acks(declared) != "1" or not hosts_hit(effects):
        return ""
    return (
        "acks=1: only the leader acknowledges, and a message that no follower has fetched is lost when another replica "
        "becomes leader"
    )


def _sends_twice(declared: Declared, effects: Sequence[Effect]) -> bool:
    producer = resolve_producer(declared.producer)
    never = is_true(producer.get("enable.idempotence")) or str(producer.get("retries", 1)) == "0"
    return disturbed(effects) and not never and acks(declared) != "0"


def retries(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why a message may be written twice."""
    if not _sends_twice(declared, effects):
        return ""
    return "enable.idempotence=false with retries: a batch is written twice if its acknowledgement was lost"


def in_flight(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why a message that was written twice may come after later ones."""
    producer = resolve_producer(declared.producer)
    many = int(producer.get("max.in.flight.requests.per.connection", 1_000_000))
    if not _sends_twice(declared, effects) or many <= 1:
        return ""
    return f"retries without idempotence and max.in.flight={many}: a retried batch may be appended after later ones"


def never_twice(declared: Declared) -> str:
    """Return why no message is written twice if no rule allows it."""
    producer = resolve_producer(declared.producer)
    if is_true(producer.get("enable.idempotence")):
        return "enable.idempotence=true: brokers drop a batch whose sequence they already have (KIP-98)"
    if str(producer.get("retries", 1)) == "0" or acks(declared) == "0":
        return "sends are never retried (retries=0 or acks=0)"
    return "no fault caused the producer to retry a send"
