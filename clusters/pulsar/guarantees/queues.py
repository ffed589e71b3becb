"""Pulsar's guarantees for queues: topics with one shared subscription.

Sources: Pulsar's documentation of shared subscriptions, dead letter topics, message expiry and batching at batch index
level, and of `managedLedgerDefaultMarkDeleteRateLimit` (acknowledgements are persisted at most once per second);
`PersistentDispatcherMultipleConsumers.removeConsumer` and `clearComponentsAfterRemovedAllConsumers`, and
`InMemoryRedeliveryTracker` (Pulsar 4.0.7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Limit, Measure, Mechanism, Party, Session
from chaoskit.contract.workloads.traits import Queueing
from clusters.pulsar.clients.queues import LIMIT, acknowledges_by_index, batches, expires, has_retries
from clusters.pulsar.settings import BY_INDEX, TTL_CHECK_MIN


def _consumed(declared: Declared) -> Queueing | None:
    """Return the queues of a workload that has consumers during the load."""
    queueing = declared.get(Queueing)
    return queueing if queueing is not None and queueing.consumers else None


def _comes_again(declared: Declared) -> Sequence[Mechanism]:
    queueing = _consumed(declared)
    if queueing is None:
        return ()
    why = (
        "delivery is at least once: brokers persist acknowledgements once per second, and a consumer publishes to the "
        "dead letters, or to a retry topic, before it acknowledges the message"
    )
    return _parted(declared, why, always=queueing.crashes and LIMIT in dict(queueing.settings))


def _parted(declared: Declared, why: str, *, always: bool | None = None) -> Sequence[Mechanism]:
    """Return what follows where consumers lost what they had, or the owner what it knew of them: always, if consumers
    crash."""
    queueing = _consumed(declared)
    if queueing is None:
        return ()
    if queueing.crashes if always is None else always:
        return (Choice(why=why),)
    return (Session(why=why, path=(Party.CONSUMER, Party.BROKERS), group=True, after_ns=_PERSISTED_NS),)


def _counts_forgotten(declared: Declared) -> Sequence[Mechanism]:
    queueing = _consumed(declared)
    if queueing is None:
        return ()
    why = (
        "redelivery counts are in the memory of the topic's owner, which counts what consumers refuse, not what one "
        "had that left, and forgets them when the last consumer leaves or another broker takes over"
    )
    return _parted(declared, why, always=queueing.unsettled or queueing.crashes)


def _limit_forgotten(declared: Declared) -> Sequence[Mechanism]:
    if has_retries(declared):
        why = (
            "a message in a retry topic says how often it was refused, but one whose acknowledgement was not persisted "
            "when its owner or its consumer ended comes again from the queue itself, and begins anew"
        )
    else:
        why = (
            "consumers go by redelivery counts, which the topic's owner forgets when it ends or the last consumer "
            "leaves, and forget what they refused when they end"
        )
    return _parted(declared, why)


def _any_order(declared: Declared) -> Sequence[Mechanism]:
    why = "a shared subscription keeps no order: what a consumer had, and did not settle, goes to others later"
    return _parted(declared, why)


def _clock_ahead(declared: Declared) -> Sequence[Mechanism]:
    if not any("delay" in dict(topic.settings) for topic in declared.topics):
        return ()
    why = "brokers deliver a delayed message when their own clock says that its time has come, and one was ahead"
    return (Limit(why=why, measure=Measure.CLOCK),)


def _expired(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Queueing) is None or not expires(declared):
        return ()
    minutes = TTL_CHECK_MIN.of(declared.options)
    why = f"brokers delete messages that have expired, which they look for each {minutes} min ({TTL_CHECK_MIN.name})"
    return (Limit(why=why, measure=Measure.SHOWN),)


def _whole_batches(declared: Declared) -> Sequence[Mechanism]:
    queueing = _consumed(declared)
    by_index = acknowledges_by_index(declared) and BY_INDEX.is_on(declared.options)
    if queueing is None or not batches(declared) or by_index:
        return ()
    why = "acknowledged messages of a batch are delivered again together with unacknowledged ones"
    return _parted(declared, why, always=queueing.unsettled or queueing.crashes)


_PERSISTED_NS = SECOND
"""Acknowledgements are persisted once per second."""

QUEUE_RULES = (
    Rule(
        "pulsar.queue-batches",
        ("duplicate",),
        _whole_batches,
        "set workload.producer.batching_enabled: false, or batch_index_ack_enabled (of Pulsar's own client "
        "batchingEnabled, batchIndexAckEnabled) and the brokers' acknowledgmentAtBatchIndexLevelEnabled",
        'Pulsar documentation, "Batching", at batch index level',
        "pulsar/queue:batches",
        "pulsar/queue:batch-index",
    ),
    Rule(
        "pulsar.queue-counts",
        ("redelivery-flag-missing",),
        _counts_forgotten,
        "",
        "Pulsar 4.0.7, PersistentDispatcherMultipleConsumers.removeConsumer, clearComponentsAfterRemovedAllConsumers",
        "pulsar/queue:left",
        "pulsar/queue:quiet",
    ),
    Rule(
        "pulsar.queue-limit",
        ("delivery-limit-exceeded",),
        _limit_forgotten,
        "",
        "Pulsar 4.0.7, InMemoryRedeliveryTracker",
        "pulsar/queue:dead-letters-broker-killed",
        "pulsar/queue:dead-letters",
    ),
    Rule(
        "pulsar.queue-order",
        ("fifo-violation",),
        _any_order,
        "",
        'Pulsar documentation, "Subscription types", Shared',
        "pulsar/queue:crashing",
        "pulsar/queue:quiet",
    ),
    Rule(
        "pulsar.queue-clock",
        ("delivered-early",),
        _clock_ahead,
        "keep the clocks of brokers in step",
        'Pulsar documentation, "Delayed message delivery"',
        "pulsar/queue:delayed-clock-ahead",
        "pulsar/queue:delayed",
    ),
    Rule(
        "pulsar.queue-expiry",
        ("dropped", "expired-late"),
        _expired,
        "remove workload.ttl",
        'Pulsar documentation, "Message retention and expiry", time to live',
        "pulsar/queue:expired",
        "pulsar/queue:quiet",
    ),
    Rule(
        "pulsar.queue-at-least-once",
        ("duplicate", "dead-letter-twice"),
        _comes_again,
        "",
        "Pulsar documentation, broker setting managedLedgerDefaultMarkDeleteRateLimit, and dead letter topic",
        "pulsar/queue:broker-killed",
        "pulsar/queue:quiet",
    ),
)

_QUEUE_PROMISES = {
    "duplicate": "an acknowledged message is not delivered again without a failure",
    "dropped": "a queue keeps messages until they are acknowledged, or expire",
    "unacked-vanished": "a subscription keeps unacknowledged messages and delivers them again",
    "redelivery-flag-missing": "the owner of a topic counts what consumers refuse while some are connected",
    "fifo-violation": "new messages are read in the order of the topic",
    "dead-letter-missing": "a message is acknowledged once it is in the dead letter topic",
    "dead-letter-early": "a message is dead-lettered once it was redelivered as often as the policy says",
    "dead-letter-mislabelled": "a dead letter names the topic that it was in",
    "dead-letter-twice": "without a failure a message is dead-lettered once",
    "delivery-limit-exceeded": "a message that was redelivered as often as the policy says is dead-lettered next time",
    "delivered-early": "brokers hold a delayed message until its time, less their tick unless they are strict",
    "expired-early": "a message is kept until its time to live has passed",
    "expired-late": "no message has a time to live",
    "over-length": "a queue has no maximum length",
    "depth-wrong": "the backlog of a subscription counts what is not acknowledged",
    "priority-inversion": "a queue has no priorities",
    "unroutable-confirmed": "a message goes to the topic that it is sent to",
    "two-active": "all consumers of a shared subscription are active",
    "no-failover": "all consumers of a shared subscription are active",
    "stuck": "a queue delivers what is ready to a consumer that has room",
}


def queue_promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur in a queue if no rule allows it; none for other workloads."""
    return {} if declared.get(Queueing) is None else _QUEUE_PROMISES
