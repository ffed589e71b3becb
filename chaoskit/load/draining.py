"""The final read of queues: it takes what is there, until the system says that nothing is left."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import NoQueue, QueueConsumer
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.model.audit import Drained

_STALL_S = 60
"""A drain that receives nothing for this long, while the system says that something is left, ends incomplete."""

_ASK_EVERY_S = 0.5
_RENEWALS = 2
"""How often the final read of a queue that is empty connects again, to another node each time."""

_RENEWED_S = 1.0
"""How long nothing must arrive from an empty queue after the final read connected again."""


class Draining(ABC):
    """Receives and settles everything from some queues, across all its connections.

    Args:
        recorder: the client's recorder.
        index: the number of the client; each connection begins with another node.
        queues: names of the queues in the workload.

    Attributes:
        consumer: its connection.
        queues: names of the queues in the system.
    """

    def __init__(self, recorder: Recorder, index: int, queues: Sequence[str]) -> None:
        self._recorder = recorder
        self._index = index
        self.queues: list[str] = [recorder.in_system(name) for name in queues]
        self.consumer: QueueConsumer = self._connect()

    @abstractmethod
    def take(self) -> int:
        """Receive and settle what is available; return the number of messages."""

    @abstractmethod
    def _connect(self) -> QueueConsumer:
        """Return a connection that receives from the queues."""

    def renew(self) -> None:
        """Disconnect, and continue as a new client, which begins with the next node."""
        self.close()
        self._index += 1
        self.consumer = self._connect()

    def close(self) -> None:
        """Disconnect; what is not settled goes back into its queue."""
        with self._recorder.operation("close"):
            self.consumer.close()


def audit_queues(receiver: Draining, recorder: Recorder, idle_s: float, stopping: Callable[[], bool]) -> str:
    """Drain all queues, and record of each whether it holds nothing any more; see `_drain`.

    Returns:
        Why some may hold messages; empty if none does.
    """
    reasons = _drain(receiver, idle_s, stopping)
    left = {queue: why for queue in receiver.queues if (why := reasons.get(queue, "was not asked"))}
    for queue in receiver.queues:
        recorder.audited(queue, 0, Drained(complete=queue not in left))
    return "; ".join(f"{recorder.in_history(queue)} {why}" for queue, why in left.items())


def _drain(receiver: Draining, idle_s: float, stopping: Callable[[], bool]) -> dict[str, str]:
    """Receive until nothing arrives any more and the system says, asked on several nodes, that every queue is empty or
    gone.

    Args:
        receiver: receives and acknowledges.
        idle_s: how long nothing must arrive before queues can be empty.
        stopping: returns whether it must end.

    Returns:
        Why each queue may hold messages; of one that was not asked, there is nothing. Empty texts are of empty queues.
    """
    left: dict[str, str] = {}
    moved_at = asked_at = time.monotonic()
    renewed = 0
    while not stopping():
        now = time.monotonic()
        if receiver.take():
            moved_at = now
        elif now - moved_at > idle_s and now - asked_at > _ASK_EVERY_S:
            left = {queue: _lacks(receiver.consumer, queue) for queue in receiver.queues}
            asked_at = time.monotonic()
            empty = not any(left.values())
            if asked_at - moved_at > _STALL_S or (renewed == _RENEWALS and empty):
                break
            if empty:
                # What was delivered to this consumer and did not arrive comes again to one on another node.
                receiver.renew()
                renewed, idle_s, moved_at = renewed + 1, _RENEWED_S, asked_at
    return left


def _lacks(consumer: QueueConsumer, queue: str) -> str:
    """Return why a queue may hold messages; empty if it holds none, or is not there any more.

    What another consumer has and did not settle is in no number that the system tells, so there must be none.
    """
    try:
        ready, consumers = consumer.left(queue)
    except NoQueue:
        return ""
    except Unreachable as error:
        return str(error)
    if ready:
        return f"has {ready:,} undelivered messages"
    return f"has {consumers} consumers, which may hold messages" if consumers > 1 else ""
