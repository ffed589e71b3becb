"""The settings of pulsar-client's consumers of queues, and what is refused before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulsar

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Queueing
from clusters.pulsar.clients.producer import resolve_producer
from clusters.pulsar.clients.queues import UNJUDGED, check_queueing, publisher_settings
from clusters.pulsar.connection import library_settings

REFUSAL_DELAY = "negative_ack_redelivery_delay_ms"
_REFUSAL_DELAY_MAX_MS = 20_000
_CONSUMER = {REFUSAL_DELAY: 1000}
"""Defaults that differ from pulsar-client's: what is refused must come again within a run (the library waits one
minute)."""

_CONSUMER_OURS = (
    "topic", "subscription_name", "schema", "message_listener", "crypto_key_reader", "initial_position",
    "batch_receive_policy", "key_shared_policy", "dead_letter_policy", "pattern_auto_discovery_period",
    "consumer_type", "receiver_queue_size",
)  # fmt: skip

_TIMEOUT = "unacked_messages_timeout_ms"


def consumer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of consumers of queues: given ones over ours.

    Raises:
        BadInput: unknown setting, or one that the workload's own keys set.
    """
    return library_settings({**_CONSUMER, **given}, pulsar.Client.subscribe, _CONSUMER_OURS, "consumer")


def check_queues(declared: Declared) -> None:
    """Reject what queues with pulsar-client cannot do.

    Raises:
        BadInput: names each key and its remedy.
    """
    queueing = declared.get(Queueing)
    if queueing is None:
        return
    problems = Problems()
    problems.tried(resolve_producer, publisher_settings(declared.producer))
    problems.tried(consumer_settings, declared.consumer)
    for refusal in _refused_consumers(declared.consumer):
        problems.add(BadInput(refusal))
    problems.tried(check_queueing, queueing, declared.options)
    problems.raise_any()


def _refused_consumers(given: Mapping[str, Any]) -> list[str]:
    refused = []
    if given.get(_TIMEOUT):
        refused.append(f"workload.consumer.{_TIMEOUT}: {UNJUDGED}")
    delay_ms = given.get(REFUSAL_DELAY, 0)
    if isinstance(delay_ms, int) and delay_ms > _REFUSAL_DELAY_MAX_MS:
        refused.append(
            f"workload.consumer.{REFUSAL_DELAY}: a consumer that leaves waits so long for its refusals; write "
            f"{_REFUSAL_DELAY_MAX_MS} at most"
        )
    return refused
