"""One consumer of the subscription workload."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chaoskit.contract.client import INFO, OK, Delivery, Settlement, SubscribingClients
from chaoskit.contract.workload import Job, Progress
from chaoskit.history.schema import DIRECTIONS, PRODUCER_SHIFT, SUBSCRIPTION_TYPES
from chaoskit.history.wal import NO_POSITION
from workloads.consuming import Reader
from workloads.reporting import Reports
from workloads.restarting import Restarts

if TYPE_CHECKING:
    from workloads.subscription import SubscriptionOptions

_DRAIN_MAX_S = 40
"""Less than the harness waits for a client to end."""

_SUBSCRIPTION = "chaoskit"


def subscribe(job: Job) -> None:
    """Take what the subscription gives until told to stop, then until nothing more comes."""
    options: SubscriptionOptions = job.options
    member = _Member(job)
    job.control.wait_start()
    crashes = Restarts(options.crash_every, (options.crash_every or 0) * job.task.index // options.consumers)
    reports = Reports(job.control)
    while not job.control.stopping:
        member.take()
        if crashes.due():
            member.crash()
        reports.tell(member.reader.progress)
    member.drain()
    member.reader.close()
    job.control.report(member.reader.progress)


class _Member:
    """A consumer through all its clients."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._options: SubscriptionOptions = job.options
        self._progress = Progress()
        self._left: dict[tuple[str, int, int], Delivery] = {}
        self._refused: set[int] = set()
        self._draining = False
        self._join()

    def take(self) -> int:
        """Receive what is there and settle it; return how many messages came."""
        received = self.reader.poll()
        nacked, left, acked = [], [], []
        for value, delivery in received:
            (nacked if self._refuses(value) else left if self._leaves(value) else acked).append(delivery)
        self._left |= {(each.topic, each.partition, each.position): each for each in left}
        self._settle(nacked, "nack")
        self._settle(acked, "ack")
        return len(received)

    def crash(self) -> None:
        """End abruptly with what was left, and go on as a new client."""
        op = self._invoke("crash")
        self.subscriber.close(abruptly=True)
        self._left = {}
        self._complete(op, OK)
        self._join()

    def drain(self) -> None:
        """Acknowledge what was left and all that still comes."""
        op = self._invoke("drain")
        self._draining = True
        self._settle(list(self._left.values()), "ack")
        idle_s = self._options.drain / 1e9
        deadline = time.monotonic() + _DRAIN_MAX_S
        quiet_since = time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - quiet_since < idle_s:
            if self.take():
                quiet_since = time.monotonic()
        self._complete(op, OK if time.monotonic() - quiet_since >= idle_s else INFO)

    def _join(self) -> None:
        clients = self._job.clients
        assert isinstance(clients, SubscribingClients)
        kind = self._options.subscription
        self.subscriber = clients.subscriber(self._options.consumer, kind)
        self.reader = Reader(self._job, self.subscriber, "receive")
        self.reader.progress = self._progress
        op = self._invoke("subscribe")
        for topic, partition in self._options.all_partitions():
            self._tell(op, "subscribed", (topic, partition), SUBSCRIPTION_TYPES.index(kind))
        self.subscriber.join(self._options.all_partitions())
        self._complete(op, OK)

    def _refuses(self, value: int) -> bool:
        """Return whether to refuse a message: once only."""
        if self._draining or value in self._refused or not _chosen(value, self._options.nack_every):
            return False
        self._refused.add(value)
        return True

    def _leaves(self, value: int) -> bool:
        return not self._draining and _chosen(value, self._options.leave_every)

    def _settle(self, deliveries: Sequence[Delivery], how: Settlement) -> None:
        if not deliveries:
            return
        last = list({(each.topic, each.partition): each for each in deliveries}.values())
        cumulative = how == "ack" and self._options.acks == "cumulative"
        op = self._invoke(how)
        for each in deliveries:
            self._tell(op, f"{how}ed", (each.topic, each.partition), position=each.position)
        outcome, error = self.subscriber.settle(*((last, "ack-cumulative") if cumulative else (deliveries, how)))
        self._complete(op, outcome, error)

    def _tell(
        self, op: int, direction: str, where: tuple[str, int], value: int = -1, *, position: int = NO_POSITION
    ) -> None:
        wal, code, (topic, partition) = self._job.wal, DIRECTIONS.index(direction), where
        wal.group(op, code, wal.name(topic), partition, wal.name(_SUBSCRIPTION), value, position)

    def _invoke(self, f: str) -> int:
        return self._job.wal.invoke(self._job.wal.name(f), time.monotonic_ns())

    def _complete(self, op: int, outcome: int, error: str | None = None) -> None:
        error_id = 0 if error is None else self._job.wal.name(error)
        self._job.wal.complete(op, time.monotonic_ns(), outcome, error_id)


def _chosen(value: int, every: int) -> bool:
    sequence = value & ((1 << PRODUCER_SHIFT) - 1)
    return every > 0 and sequence % every == every - 1
