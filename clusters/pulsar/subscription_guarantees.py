"""What Pulsar promises of subscriptions, for the verdict's table.

Sources: Pulsar's documentation of subscription types, of acknowledgement ("At batch index level"), of Key_Shared and
batching ("Batching for Key_Shared subscriptions"), and of `managedLedgerDefaultMarkDeleteRateLimit` (acknowledgements
are written down once a second at most).
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.cluster import Allowance, Declared, Effect
from clusters.bookkeeper.settings import is_true, setting
from clusters.effects import on_hosts
from clusters.pulsar.producer import resolve_producer
from clusters.pulsar.settings import PulsarOptions

_PARTED = "a consumer whose connection broke does not know that what it has was given to another"


def subscription_guarantees(declared: Declared, effects: Sequence[Effect], lost: Allowance) -> dict[str, Allowance]:
    """Return the table's lines about subscriptions; `lost` is that of lost messages."""
    parted = bool(on_hosts(effects))
    mixed = declared.subscription == "key-shared" and _batches(declared, "Default")
    ordered = lost if lost.allowed else _ordered(mixed)
    return {
        "unacked-vanished": lost
        if lost.allowed
        else Allowance(False, "a subscription keeps what is not acknowledged, and delivers it again"),
        "double-delivery": _double(declared, parted),
        "two-active": Allowance(True, _PARTED) if parted and not ordered.allowed else ordered,
        "fifo-violation": ordered,
        "redelivery-flag-missing": Allowance(True, "redelivery counts are in the broker's memory")
        if parted
        else Allowance(False, "shared subscriptions count redeliveries"),
    }


def _ordered(mixed: bool) -> Allowance:
    if mixed:
        return Allowance(
            True,
            "batching_enabled=true with several keys in a batch: a batch goes where its first message's key goes",
            "set workload.producer: {batching_type: KeyBased}, or batching_enabled: false",
        )
    return Allowance(
        False, "exclusive and failover subscriptions keep the order of a partition, key-shared ones that of each key"
    )


def _double(declared: Declared, parted: bool) -> Allowance:
    options: PulsarOptions = declared.options
    by_index = is_true(declared.consumer.get("batch_index_ack_enabled")) and is_true(
        setting(options.config.broker, "acknowledgmentAtBatchIndexLevelEnabled", False)
    )
    if parted:
        return Allowance(True, f"acknowledgements are written down once a second, and have no receipt; {_PARTED}")
    if declared.consumer.get("unacked_messages_timeout_ms"):
        return Allowance(True, "unacked_messages_timeout_ms: what a consumer has for longer is given to another")
    if _batches(declared, "") and not by_index:
        return Allowance(
            True,
            "acknowledged messages of a batch come again with those that are not",
            "set workload.producer.batching_enabled: false, or batch_index_ack_enabled and the brokers' "
            "acknowledgmentAtBatchIndexLevelEnabled",
        )
    return Allowance(False, "a message is given to one consumer at a time, until it is acknowledged")


def _batches(declared: Declared, sort: str) -> bool:
    """Return whether producers make batches: of any sort, or of this one."""
    producer = resolve_producer(declared.producer)
    kind = getattr(producer.get("batching_type"), "name", "Default")
    return bool(producer.get("batching_enabled")) and sort in ("", kind)
