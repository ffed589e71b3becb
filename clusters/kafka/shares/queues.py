"""What queues of Kafka can do, what brokers do to them by default, and the settings of their share group."""

from __future__ import annotations

from collections.abc import Mapping

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from clusters.common.properties import Scalar
from clusters.kafka.artifacts import parse_version
from clusters.kafka.settings import DELIVERY_LIMIT, KafkaOptions

SINCE = (4, 2)
"""The first release whose share groups are for production."""

FEATURES = (QueueFeature.PREFETCH, QueueFeature.REFUSAL, QueueFeature.DELIVERY_LIMIT)

_LIMIT, _ENDS_FREE = "delivery-limit", "ends-free"
_RESET, _LIMIT_OF_GROUP = "share.auto.offset.reset", "share.delivery.count.limit"


def has_share_groups(options: KafkaOptions) -> bool:
    """Return whether brokers of the release have share groups for production."""
    return parse_version(options.version) >= SINCE


def group_settings(options: KafkaOptions, queue: Topic) -> dict[str, Scalar]:
    """Return the settings of the share group that reads a queue: from its first message on, unless the scenario sets
    something else."""
    limit = dict(queue.settings).get(_LIMIT)
    limited = {} if limit is None else {_LIMIT_OF_GROUP: limit + 1}
    return {_RESET: "earliest", **limited, **options.share_group}


def imposed(options: KafkaOptions, queue: Topic) -> Mapping[str, int]:
    """Return how often a message may be returned, unless the workload says so.

    Kafka limits deliveries, so one return less. What a member had when it left, or its connection ended, does not count
    (`SharePartition.releaseAcquiredRecords` decreases the count again).
    """
    if queue.model is not QUEUE:
        return {}
    if _LIMIT in dict(queue.settings):
        return {_ENDS_FREE: 1}
    deliveries = options.share_group.get(_LIMIT_OF_GROUP) or DELIVERY_LIMIT.number_of(options)
    return {_LIMIT: int(deliveries) - 1, _ENDS_FREE: 1}


def check_queues(declared: Declared) -> None:
    """Reject queues that Kafka does not have, or whose clients cannot do what is asked.

    Raises:
        BadInput: names each key and the remedy.
    """
    queueing, options = declared.get(Queueing), declared.options
    if queueing is None:
        if options.share_group:
            raise BadInput("cluster.share_group: only queues are read by a share group; remove it")
        return
    problems = Problems()
    for refusal in _refusals(queueing, options):
        problems.add(BadInput(refusal))
    problems.raise_any()


def _refusals(queueing: Queueing, options: KafkaOptions) -> list[str]:
    refused = []
    if options.security is not None:
        refused.append("cluster.security: what is left of a queue is asked without a login so far; remove it")
    if queueing.leaves:
        refused.append("workload.leave_every: share consumers poll no more before everything is settled; remove it")
    if queueing.crashes and options.clients == "librdkafka":
        refused.append(
            "workload.crash_every: librdkafka's share consumer ends with its process only; set cluster.clients: java, "
            "or use the fault client-crash"
        )
    return refused
