"""Queues, as RocketMQ has them: a topic whose messages one group of consumers pops, each until it is settled.

A message that was popped is invisible to others until it is acknowledged, or its time is over. Then it comes again,
from a retry topic of the group; after too many times, it goes to the group's topic of dead letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import DEAD, Topic
from chaoskit.contract.workloads.traits import Queueing
from clusters.rocketmq.deploy import admin, progress
from clusters.rocketmq.deploy.admin import Server

NORMAL, FIFO = "normal", "fifo"
TYPES = (NORMAL, FIFO)
QUEUES = 4
"""Queues of a topic: what RocketMQ calls a queue is a part of what is a queue to a workload."""

_MESSAGE_TYPES = {NORMAL: "NORMAL", FIFO: "FIFO"}
_REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
_REVIVE_QUEUES = 8
_CHECKPOINT = "ck"
"""Tag of what a broker writes about a batch that was popped; when its time is over, it comes to the topic of those to
be looked at, and is passed once all of the batch is acknowledged or given again (`PopReviveService`)."""

_TIMER_LAG_S = 2


def check_queues(declared: Declared) -> None:
    """Reject queues that RocketMQ does not have.

    Raises:
        BadInput: names each key of the workload, and what to write.
    """
    queueing, problems = declared.get(Queueing), Problems()
    if queueing is None:
        return
    settings = dict(queueing.settings)
    if "reject_every" in dict(queueing.features):
        problems.add(
            BadInput(
                "workload.reject_every: a consumer of RocketMQ can only let a message come again; use return_every "
                "with delivery_limit and dead_letters"
            )
        )
    if settings.get("dead-letters") and not settings.get("delivery-limit"):
        problems.add(
            BadInput(
                "workload.dead_letters: RocketMQ has them for messages that are returned too often only; set "
                "delivery_limit"
            )
        )
    if settings.get("delay") and any(topic.kind == FIFO for topic in declared.topics):
        problems.add(BadInput("workload.delay: a topic of RocketMQ keeps an order or delays; remove type: fifo"))
    problems.raise_any()


def real_topic(queue: str) -> str:
    """Return the topic of a queue, or of its dead letters."""
    return f"%DLQ%{queue.removesuffix(DEAD)}" if queue.endswith(DEAD) else queue


def queue_of(topic: str) -> str:
    """Return the queue of a topic; the opposite of `real_topic`.

    >>> queue_of(real_topic("t1-queue-0.dead")), queue_of(real_topic("t1-queue-0"))
    ('t1-queue-0.dead', 't1-queue-0')
    """
    return topic.removeprefix("%DLQ%") + DEAD if topic.startswith("%DLQ%") else topic


def group_of(queue: str) -> str:
    """Return the group that consumes a queue."""
    return f"{queue.removesuffix(DEAD)}-dead" if queue.endswith(DEAD) else queue


def create(master: Server, topic: Topic, timeout_s: float) -> None:
    """Create a queue with its group; raises like `admin.create_topic`."""
    settings = dict(topic.settings)
    if "dead-letters-of" in settings:
        admin.create_topic(master, real_topic(topic.name), 1, "", timeout_s)
        admin.create_group(master, group_of(topic.name), timeout_s)
        return
    message_type = "DELAY" if "delay" in settings else _MESSAGE_TYPES[topic.kind or NORMAL]
    admin.create_topic(master, topic.name, QUEUES, f"+message.type={message_type}", timeout_s)
    ordered, limit = topic.kind == FIFO, settings.get("delivery-limit")
    retries = None if limit is None else limit - 1
    admin.create_group(master, group_of(topic.name), timeout_s, ordered=ordered, retries=retries)


def delays(topics: Sequence[Topic]) -> Mapping[str, int]:
    """Return how long messages of each queue wait, ms, if they do."""
    by_queue = {topic.name: dict(topic.settings).get("delay") for topic in topics}
    return {name: delay for name, delay in by_queue.items() if delay is not None}


def left(master: Server, queue: str, cluster: str, timeout_s: float) -> int:
    """Return how many messages of a queue wait for its group, or to be delivered again.

    Args:
        master: the master of its brokers.
        queue: its name.
        cluster: name of the cluster.
        timeout_s: of each question.

    Raises:
        ServiceError: the master does not answer; or some may still come, whose number nobody tells.
        OSError: it cannot be reached.
    """
    topic, group = real_topic(queue), group_of(queue)
    parts = 1 if queue.endswith(DEAD) else QUEUES
    admin.check_dispatched(master, timeout_s)
    waiting = sum(progress.lag(master, (topic, part), group, timeout_s) for part in range(parts))
    again = progress.lag(master, (f"%RETRY%{group}_{topic}", 0), group, timeout_s)
    revive = f"rmq_sys_REVIVE_LOG_{cluster}"
    held = any(
        progress.waits(master, (revive, number), (_REVIVE_GROUP, _CHECKPOINT), timeout_s)
        for number in range(_REVIVE_QUEUES)
    )
    if not waiting + again and (held or admin.timer_late_s(master, timeout_s) > _TIMER_LAG_S):
        raise ServiceError("messages may come that wait for their time, or to be delivered again")
    return waiting + again
