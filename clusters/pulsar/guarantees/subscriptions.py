"""Pulsar's guarantees for subscriptions.

Sources: Pulsar's documentation of subscription types, of acknowledgement ("At batch index level"), of Key_Shared and
batching ("Batching for Key_Shared subscriptions"), and of `managedLedgerDefaultMarkDeleteRateLimit` (acknowledgements
are persisted at most once per second).
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import PARTS_CONNECTIONS, Act
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Mechanism, Party, Session
from chaoskit.contract.guarantees.setting import is_true
from chaoskit.contract.workloads.traits import Subscription
from clusters.pulsar.clients.settings import chosen_producer
from clusters.pulsar.settings import BY_INDEX

_PARTED = "a consumer whose connection broke does not know that its messages were delivered to another one"


def _parted(declared: Declared, why: str) -> Sequence[Mechanism]:
    """Return what follows from a connection of a consumer that broke."""
    if declared.get(Subscription) is None:
        return ()
    lives_on = Session(
        why=why,
        path=(Party.CONSUMER, Party.BROKERS),
        by=PARTS_CONNECTIONS & ~Act.ENDS,
        group=True,
        after_ns=_PARTED_NS,
    )
    return lives_on, Session(why=why, path=(Party.BROKERS,), by=Act.ENDS, group=True, after_ns=_PARTED_NS)


def _batching(declared: Declared) -> str:
    """Return how producers batch messages: `Default` (by time and size) or `KeyBased`; empty if they do not."""
    producer = chosen_producer(declared.producer)
    if not producer.get("batching_enabled"):
        return ""
    return str(producer.get("batching_type", "Default"))


def _mixed_keys(declared: Declared) -> Sequence[Mechanism]:
    subscription = declared.get(Subscription)
    if subscription is None or subscription.kind != "key-shared" or _batching(declared) != "Default":
        return ()
    why = "batching_enabled=true with several keys in a batch: the key of its first message determines the consumer"
    return (Choice(why=why),)


def _two_active(declared: Declared) -> Sequence[Mechanism]:
    return _parted(declared, _PARTED)


def _acknowledged_late(declared: Declared) -> Sequence[Mechanism]:
    return _parted(declared, f"acknowledgements are persisted once per second and have no receipt; {_PARTED}")


def _held_too_long(declared: Declared) -> Sequence[Mechanism]:
    timeout_ms = declared.consumer.get("unacked_messages_timeout_ms")
    if declared.get(Subscription) is None or not timeout_ms:
        return ()
    why = "unacked_messages_timeout_ms: messages that are not acknowledged in time are delivered to another consumer"
    return (Choice(why=why),)


def _whole_batches(declared: Declared) -> Sequence[Mechanism]:
    by_index = is_true(declared.consumer.get("batch_index_ack_enabled")) and BY_INDEX.is_on(declared.options)
    if declared.get(Subscription) is None or not _batching(declared) or by_index:
        return ()
    return (Choice(why="acknowledged messages of a batch are redelivered together with unacknowledged ones"),)


def _counts_lost(declared: Declared) -> Sequence[Mechanism]:
    return _parted(declared, "redelivery counts are only in the broker's memory")


_PARTED_NS = SECOND
"""Acknowledgements are persisted once per second."""

SUBSCRIPTION_RULES = (
    Rule(
        "pulsar.mixed-keys",
        ("fifo-violation", "two-active"),
        _mixed_keys,
        "set workload.producer: {batching_type: KeyBased}, or batching_enabled: false",
        'Pulsar documentation, "Batching for Key_Shared subscriptions"',
        "pulsar/key-shared:mixed-batches",
        "pulsar/key-shared:no-batches",
    ),
    Rule(
        "pulsar.two-active",
        ("two-active",),
        _two_active,
        "",
        'Pulsar documentation, "Subscription types"',
        "pulsar/subscriptions:exclusive-resets",
        "pulsar/subscriptions:exclusive",
    ),
    Rule(
        "pulsar.acknowledged-late",
        ("double-delivery",),
        _acknowledged_late,
        "",
        "Pulsar documentation, broker setting managedLedgerDefaultMarkDeleteRateLimit",
        "pulsar/subscriptions:owner-killed",
        "pulsar/subscriptions:quiet",
    ),
    Rule(
        "pulsar.held-too-long",
        ("double-delivery",),
        _held_too_long,
        "remove unacked_messages_timeout_ms",
        'Pulsar documentation, "Acknowledgment timeout"',
        "pulsar/subscriptions:timeout",
        "pulsar/subscriptions:quiet",
    ),
    Rule(
        "pulsar.whole-batches",
        ("double-delivery",),
        _whole_batches,
        "set workload.producer.batching_enabled: false, or batch_index_ack_enabled and the brokers' "
        "acknowledgmentAtBatchIndexLevelEnabled",
        'Pulsar documentation, "Batching", at batch index level',
        "pulsar/subscriptions:batches",
        "pulsar/subscriptions:quiet",
    ),
    Rule(
        "pulsar.counts-lost",
        ("redelivery-flag-missing",),
        _counts_lost,
        "",
        'Pulsar documentation, "Negative acknowledgment"',
        "pulsar/subscriptions:owner-killed",
        "pulsar/subscriptions:quiet",
    ),
)

SUBSCRIPTION_PROMISES = {
    "unacked-vanished": "a subscription keeps unacknowledged messages and redelivers them",
    "double-delivery": "a message is delivered to one consumer at a time, until it is acknowledged",
    "redelivery-flag-missing": "shared subscriptions count redeliveries",
    **dict.fromkeys(
        ("fifo-violation", "two-active"),
        "exclusive and failover subscriptions keep the order of a partition, key-shared ones that of each key",
    ),
}
