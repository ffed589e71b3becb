"""Queues in Pulsar: topics with one shared subscription, and what a workload may ask of them.

Sources: Pulsar's documentation of delayed delivery (`isDelayedDeliveryDeliverAtTimeStrict`,
`delayedDeliveryTickTimeMillis`), of message expiry, of backlog quotas and of dead letter topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.guarantees.setting import is_true
from chaoskit.contract.workloads.datamodel import QUEUE, DataModel
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from clusters.pulsar.clients.settings import chosen_producer
from clusters.pulsar.settings import DELAY_TICK_MS, FULL_BACKLOG, STRICT_DELAY, TTL_S, PulsarOptions

QUEUES = "queues"
"""Key of the client settings: what each queue was declared with, by its name."""

SHARED = "shared"
TYPES: Mapping[DataModel, Sequence[str]] = {QUEUE: (SHARED,)}
FEATURES = (
    QueueFeature.CONFIRMS,
    QueueFeature.DELAY,
    QueueFeature.EXPIRY,
    QueueFeature.PREFETCH,
    QueueFeature.REFUSAL,
    QueueFeature.DELIVERY_LIMIT,
    QueueFeature.DEAD_LETTERS,
)

LIVES, LIMIT, DELAY = "message-ttl", "delivery-limit", "delay"
TTL_POLICY = "messageTTL"
_SECOND_MS = 1000
_RETRY = "-retry"

BATCHING_JAVA, RETRY_JAVA, _BY_INDEX_JAVA = "batchingEnabled", "retryEnable", "batchIndexAckEnabled"
_BATCHING, _BY_INDEX = "batching_enabled", "batch_index_ack_enabled"
"""Settings of Pulsar's own client, and of pulsar-client."""

_PUBLISHER = {_BATCHING: False}
"""Defaults of publishers that differ from those of producers of logs: brokers settle, count and delay entries."""

UNJUDGED = "what comes again after it is not judged in queues; remove it, or use workload.kind: subscription"
_EVICTS = "consumer_backlog_eviction"


def publisher_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of publishers: given ones over ours; see
    `clusters.pulsar.clients.producer.resolve_producer`."""
    return {**_PUBLISHER, **given}


def batches(declared: Declared) -> bool:
    """Return whether publishers send several messages in one entry."""
    if declared.options.clients == "java":
        given = declared.producer.get(BATCHING_JAVA, False)
        return given is None or is_true(given)  # null is the client's default, which batches
    return bool(chosen_producer(publisher_settings(declared.producer)).get(_BATCHING))


def acknowledges_by_index(declared: Declared) -> bool:
    """Return whether consumers acknowledge single messages of an entry."""
    return is_true(declared.consumer.get(_BY_INDEX_JAVA if declared.options.clients == "java" else _BY_INDEX, False))


def retries(given: Mapping[str, Any]) -> bool:
    """Return whether consumers of Pulsar's own client with such settings have retry topics."""
    return is_true(given.get(RETRY_JAVA, False))


def has_retries(declared: Declared) -> bool:
    """Return whether consumers publish what they refuse to a retry topic."""
    return declared.options.clients == "java" and retries(declared.consumer)


def retry_topic(queue: str) -> str:
    """Return the topic to which consumers publish what they refuse, if they have retry topics."""
    return f"{queue}{_RETRY}"


def retry_topics(options: PulsarOptions, topic: Topic) -> Sequence[str]:
    """Return the retry topics that a topic needs: only Pulsar's own client has them, with a delivery limit."""
    limited = topic.model is QUEUE and LIMIT in dict(topic.settings)
    return (retry_topic(topic.name),) if limited and options.clients == "java" else ()


def ttl_s(topic: Topic) -> int:
    """Return how long messages of a queue live, in seconds; 0: for ever."""
    return dict(topic.settings).get(LIVES, 0) // _SECOND_MS


def imposed(options: PulsarOptions, topic: Topic) -> dict[str, int]:
    """Return what brokers do to a queue besides what the workload declared, with names of `QUEUE_SETTINGS`.

    Unless they are strict, they deliver a delayed message as much too early as their tick is long.
    """
    if topic.model is not QUEUE:
        return {}
    settings = {}
    lives = int(options.namespace.get(TTL_POLICY) or 0) or TTL_S.number_of(options)
    if lives and not ttl_s(topic):
        settings[LIVES] = lives * _SECOND_MS
    delay = dict(topic.settings).get(DELAY)
    if delay and not STRICT_DELAY.is_on(options):
        settings[DELAY] = max(delay - DELAY_TICK_MS.number_of(options), 0)
    return settings


def expires(declared: Declared) -> bool:
    """Return whether messages of any queue expire."""
    return any(
        LIVES in {**dict(topic.settings), **imposed(declared.options, topic)}
        for topic in declared.topics
        if topic.model is QUEUE
    )


def check_queueing(queueing: Queueing, options: PulsarOptions) -> None:
    """Reject what queues of Pulsar cannot do, whatever the clients.

    Raises:
        BadInput: names each key and its remedy.
    """
    problems = Problems()
    for refusal in (*_refused_keys(queueing), *_refused_settings(queueing), *_refused_policies(options)):
        problems.add(BadInput(refusal))
    problems.raise_any()


def _refused_keys(queueing: Queueing) -> list[str]:
    asked = dict(queueing.features)
    refused = []
    if not queueing.confirms:
        refused.append("workload.confirms: brokers answer every send of Pulsar's clients; remove it")
    if "reject_every" in asked:
        refused.append(
            "workload.reject_every: a consumer of Pulsar can only ask for a message again; use return_every with "
            "delivery_limit and dead_letters"
        )
    if "message_ttl" in asked:
        refused.append("workload.message_ttl: messages of Pulsar have no time to live of their own; use ttl")
    return refused


def _refused_settings(queueing: Queueing) -> list[str]:
    settings = dict(queueing.settings)
    lives, dead, limit = (settings.get(name, 0) for name in (LIVES, "dead-letters", LIMIT))
    refused = []
    if lives % _SECOND_MS:
        refused.append("workload.ttl: Pulsar counts in seconds; write whole ones")
    if lives and dead:
        refused.append("workload.ttl: Pulsar deletes what expires, also dead letters; remove dead_letters")
    if dead and not limit:
        refused.append("workload.dead_letters: Pulsar has them for messages that are returned too often only; set "
                       "delivery_limit")  # fmt: skip
    if limit and not dead:
        refused.append("workload.delivery_limit: Pulsar has one only with a dead letter topic; set dead_letters: true")
    return refused


def _refused_policies(options: PulsarOptions) -> list[str]:
    refused = []
    if _EVICTS in str(options.namespace.get("backlogQuota")):
        refused.append(f"cluster.namespace.backlogQuota: what {_EVICTS} drops is not judged; use producer_exception")
    if FULL_BACKLOG.of(options) == _EVICTS:
        refused.append(
            f"cluster.config.broker.backlogQuotaDefaultRetentionPolicy: what {_EVICTS} drops is not judged; use "
            "producer_exception"
        )
    return refused
