"""How the producers of a workload send to RocketMQ, and how often they send again by themselves."""

from __future__ import annotations

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Queueing
from clusters.common.properties import setting
from clusters.rocketmq.clients.queues import FIFO
from clusters.rocketmq.clients.settings import ASYNC, ONEWAY, producer_settings, way_of, way_to_queues

_RETRIES = 2
"""Default of `retryTimesWhenSendAsyncFailed` and `retryTimesWhenSendFailed`."""


def way(declared: Declared) -> str:
    """Return how the producers of the workload send."""
    queueing = declared.get(Queueing)
    if queueing is None:
        return way_of(declared.producer)
    return way_to_queues(declared.producer, ordered=in_order(declared), confirms=queueing.confirms)


def in_order(declared: Declared) -> bool:
    """Return whether the workload's queues keep the order of each producer's messages."""
    return any(topic.kind == FIFO for topic in declared.topics)


def retried(declared: Declared) -> tuple[int, str]:
    """Return how often the client sends a message again by itself, and the setting that says so.

    Where it waits for the answer, only if it chooses the queue (`DefaultMQProducerImpl.sendDefaultImpl`).
    """
    if declared.options.clients == "python":
        return _RETRIES, "Producer.DEFAULT_MAX_SEND_ATTEMPTS"
    chosen = way(declared)
    to_any_queue = declared.get(Queueing) is not None and not in_order(declared)
    if chosen == ONEWAY or (chosen != ASYNC and not to_any_queue):
        return 0, ""
    name = "retryTimesWhenSendAsyncFailed" if chosen == ASYNC else "retryTimesWhenSendFailed"
    return int(setting(producer_settings(declared.producer), name, _RETRIES)), name
