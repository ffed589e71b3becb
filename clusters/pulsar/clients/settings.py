"""What clients are told, and the settings that producers have without pulsar-client's own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMESPACE = "namespace"
"""Key of the client settings: the prefix of subscription names."""

BEGINS = "begins"
"""Key of the client settings: the first ledger of each partition when it was created, by `partition_name`."""

COMPACTED = "compacted"
"""Key of the client settings: whether topics are compacted, and so read that way."""

CLASSPATH = "classpath"
"""Key of the client settings: the class path of Pulsar's own client, if workloads use that."""

TRANSACTIONS = "transactions"
"""Key of the client settings: whether Pulsar's own client may begin transactions."""

PRODUCER_DEFAULTS: dict[str, Any] = {
    "batching_enabled": True,
    "batching_max_publish_delay_ms": 5,
    "max_pending_messages": 20_000,
    "send_timeout_millis": 30_000,
}
"""Defaults that differ from pulsar-client's, or that a test depends on: batching as in Pulsar's own (Java) producer,
with the same delay as chaoskit's Kafka producers; the timeout is also the library's default."""


def chosen_producer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the producer settings that are not pulsar-client's default: given ones override chaoskit's; null selects
    the library's."""
    return {key: value for key, value in {**PRODUCER_DEFAULTS, **given}.items() if value is not None}
