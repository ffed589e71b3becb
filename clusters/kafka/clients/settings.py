"""The settings of librdkafka's clients: chaoskit's defaults, and what is in effect with those that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.kafka.clients.membership import SESSION

PRODUCER_DEFAULTS: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 5,
    "request.timeout.ms": 10_000,
    "delivery.timeout.ms": 30_000,
    "queue.buffering.max.messages": 200_000,
}
"""Defaults that differ from librdkafka's: idempotence as in Kafka's own (Java) producer since 3.0, and timeouts
short enough for a test run: a broker that lost power leaves its connections half-open, and a pending request is
detected only when it times out."""

ALIASES = {
    "request.required.acks": "acks",
    "message.timeout.ms": "delivery.timeout.ms",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
}
"""librdkafka's aliases of settings that chaoskit sets or that guarantees depend on."""

TRANSACTIONAL_ID = "transactional.id"

TRANSACTIONAL_DEFAULTS = {"transaction.timeout.ms": 30_000}
"""Defaults that differ from librdkafka's: the open transaction of a dead producer blocks readers for this long."""

ISOLATION = "isolation.level"
READ_COMMITTED = "read_committed"
"""librdkafka's default."""

CONSUMER_DEFAULTS: dict[str, Any] = {
    "check.crcs": True,
    "enable.auto.commit": False,
    "enable.partition.eof": False,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 50,
    SESSION: 10_000,
}
"""CRCs are checked, as in Kafka's own (Java) consumer. A lost position is an error, so that the workload sees it and
records its seek. The workload commits, so that each commit is recorded; with `enable.auto.commit` librdkafka would
commit at unknown times. A full queue of messages is looked at again after 10 ms: after librdkafka's 1 s a consumer that
is faster than that has long emptied it, and waits."""


def resolve_producer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective producer settings: given ones override chaoskit's; null selects librdkafka's default."""
    named = {ALIASES.get(key, key): value for key, value in given.items()}
    base = dict(PRODUCER_DEFAULTS)
    if str(named.get("acks")) not in ("None", "all", "-1"):
        base["enable.idempotence"] = False
    return {key: value for key, value in {**base, **named}.items() if value is not None}


def transactional_settings(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the effective producer settings: given ones override chaoskit's; null selects librdkafka's default."""
    settings = {TRANSACTIONAL_ID: name, **TRANSACTIONAL_DEFAULTS, **resolve_producer(given)}
    return {key: value for key, value in settings.items() if given.get(key, value) is not None}
