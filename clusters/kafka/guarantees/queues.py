"""Rules and promises for queues on Kafka: what a share group has not settled, and what the log has lost of it."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Limit, Measure, Mechanism, Party, Session
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.traits import Queueing
from clusters.kafka.guarantees.models import of_model
from clusters.kafka.guarantees.storing import disks_lost, files_changed, internal_os_flush, os_flush


def _state_forgotten(declared: Declared) -> Sequence[Mechanism]:
    return internal_os_flush(
        declared,
        "what a share group has settled is in a topic with the brokers' flush settings, so it may have been in memory "
        "only",
    )


def _acquired_forgotten(_: Declared) -> Sequence[Mechanism]:
    why = "which messages members have, and for how many times, is in the memory of the partition's leader"
    session = Session(why=why, path=(Party.CONSUMER, Party.LEADER, Party.BROKERS), group=True)
    return session, Limit(why=why, measure=Measure.LED)


def _limited(declared: Declared) -> Sequence[Mechanism]:
    queueing = declared.get(Queueing)
    limit = dict(queueing.settings).get("delivery-limit") if queueing else None
    if limit is None:
        return ()
    return (Choice(why=f"delivery_limit: {limit}: what was returned that often is given up on the next return"),)


QUEUE_RULES = (
    Rule(
        "kafka.queue-truncated",
        ("lost", "unacked-vanished"),
        of_model(QUEUE, os_flush, disks_lost, files_changed),
        "set flush.messages=1 (or log.flush.interval.messages=1 on brokers)",
        "Kafka documentation, topic setting flush.messages",
        "kafka/share-group:power-os-flush",
        "kafka/share-group:power-flush-each",
    ),
    Rule(
        "kafka.share-state-forgotten",
        ("duplicate", "redelivery-flag-missing", "delivery-limit-exceeded"),
        of_model(QUEUE, _state_forgotten),
        "set log.flush.interval.messages=1 on brokers",
        "KIP-932, share-group state topic; Kafka documentation, broker setting log.flush.interval.messages",
        "kafka/share-group:power-state-os-flush",
        "kafka/share-group:power-flush-each",
    ),
    Rule(
        "kafka.delivery-limit",
        ("dropped",),
        _limited,
        "set a higher delivery_limit (share.delivery.count.limit)",
        "Kafka documentation, group setting share.delivery.count.limit",
        "kafka/share-group:limit",
        "kafka/share-group:settled",
    ),
    Rule(
        "kafka.acquired-forgotten",
        ("redelivery-flag-missing", "delivery-limit-exceeded"),
        of_model(QUEUE, _acquired_forgotten),
        "",
        "KIP-932, in-flight records; SharePartition: what is acquired is in the leader's memory",
        "kafka/share-group:power-flush-each",
        "kafka/share-group:quiet",
        alone=True,
    ),
)

OF_QUEUES = {
    "unacked-vanished": "a message that was not acknowledged is available again when its lock expires (KIP-932)",
    "duplicate": "an acknowledgement is answered once the share coordinator has it on its replicas (KIP-932)",
    "redelivery-flag-missing": "a message that is acquired again carries its delivery count",
    "fifo-violation": "new messages of a partition are acquired in the order of its log",
    "delivery-limit-exceeded": "a message that was delivered group.share.delivery.count.limit times is archived",
    "dropped": "nothing but an acknowledgement, a rejection or the limit takes a message from its group",
}
"""By anomaly, why it must not occur in queues."""
