"""What is left of a queue whose messages are popped, and what is invisible for a while because a consumer left it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import Death
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import DEAD
from clusters.rocketmq.clients import queues
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.settings import BROKER_PORT, CLUSTER_NAME

DELIVERY_LIMIT = "delivery_limit"
"""The only reason for which RocketMQ moves a message to the dead letters."""

_ASK_S = 2.0

_COMES_AGAIN_S = 8.0
"""How long after its time an invisible message may need to be counted as waiting again: it may have been popped as late
as 3 s after the consumer left, by a request that waited at the broker, and comes again by `PopReviveService`."""


class Invisible:
    """Messages that consumers popped and left: they are invisible for a while.

    Args:
        duration_s: how long.

    Attributes:
        duration_s: the same.
    """

    def __init__(self, duration_s: float) -> None:
        self.duration_s = duration_s
        self._until = 0.0
        self.begin()

    def begin(self) -> None:
        """A consumer may have left some now."""
        self._until = time.monotonic() + self.duration_s + _COMES_AGAIN_S

    def there(self) -> bool:
        """Return whether some may still be invisible."""
        return time.monotonic() < self._until


def left_in(brokers: Sequence[str], queue: str) -> int:
    """Return the number of messages that are ready in a queue.

    Args:
        brokers: addresses of the brokers that have it.
        queue: the queue.

    Raises:
        Unreachable: no master answers.
    """
    servers = [(address, BROKER_PORT) for address in brokers]
    try:
        return admin.ask_master(servers, lambda master: queues.left(master, queue, CLUSTER_NAME, _ASK_S), _ASK_S)
    except ServiceError as error:
        raise Unreachable(f"queue {queue}: {error}") from error


def death_in(queue: str) -> Death | None:
    """Return why a message is in a queue, if that is one of dead letters."""
    return Death(DELIVERY_LIMIT, queue.removesuffix(DEAD), 1) if queue.endswith(DEAD) else None
