"""One consumer of the queue workload."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.client import QueueClients, QueueConsumer, Settlement
from chaoskit.contract.workload import Job
from chaoskit.history.recorder import Delivery
from chaoskit.history.schema import FAIL, OK
from workloads.common.choices import Choices
from workloads.common.reports import Reports
from workloads.common.restarts import Restarts
from workloads.queue.options import QueueOptions

_POLL_TIMEOUT_S = 0.1
_MESSAGES_MAX = 1000


def consume(job: Job[QueueOptions]) -> None:
    """Receive and settle until stopped; what is not settled then goes back into its queue."""
    options = job.options
    receiver = Receiver(job, options.prefetch)
    job.control.wait_start()
    crashes = Restarts(options.crash_every, (options.crash_every or 0) * job.task.index // max(options.consumers, 1))
    reports = Reports(job.control, job.recorder)
    while not job.control.stopping:
        receiver.take()
        if crashes.due():
            receiver.crash()
        reports.tell()
    receiver.close()
    reports.finish()


class Receiver:
    """A consumer of all queues, across all its connections.

    Args:
        job: the client's job.
        prefetch: see `QueueOptions`.
        settles_all: whether to acknowledge whatever arrives.
    """

    def __init__(self, job: Job[QueueOptions], prefetch: int, *, settles_all: bool = False) -> None:
        self._clients = job.clients.power(QueueClients)
        self._job = job
        self._recorder = job.recorder
        self._options = job.options
        self._prefetch = prefetch
        self._choices = Choices(job.options.nack_every, job.options.leave_every)
        self._choices.settles_all = settles_all
        self.queues = [job.recorder.in_system(name) for name in job.options.queue_names()]
        self.consumer = self._connect()

    def take(self) -> int:
        """Receive and settle what is available; return the number of messages."""
        op = self._recorder.invoke("receive")
        deliveries, tags, error = self.consumer.poll(_POLL_TIMEOUT_S, _MESSAGES_MAX)
        received_ns, values = self._recorder.received(op, deliveries)
        self._recorder.complete(op, OK if error is None else FAIL, error, received_ns)
        acked, nacked = [], []
        for delivery, tag, value in zip(deliveries, tags, values, strict=True):
            if self._choices.refuses(value):
                nacked.append((delivery, tag, value))
            elif not self._choices.leaves(value):
                acked.append((delivery, tag, value))
        self._settle(nacked, "nack")
        self._settle(acked, "ack")
        return len(deliveries)

    def crash(self) -> None:
        """Disconnect without a word, and continue as a new client."""
        with self._recorder.operation("crash"):
            self.consumer.close(abruptly=True)
        self.consumer = self._connect()

    def close(self) -> None:
        """Disconnect; what is not settled goes back into its queue."""
        with self._recorder.operation("close"):
            self.consumer.close()

    def _connect(self) -> QueueConsumer:
        consumer = self._clients.queue_consumer(self._options.consumer, self._job.task.index, self._prefetch)
        with self._recorder.operation("subscribe"):
            consumer.consume(self.queues)
        return consumer

    def _settle(self, chosen: Sequence[tuple[Delivery, int, int]], how: Settlement) -> None:
        if not chosen:
            return
        op = self._recorder.invoke(how)
        for delivery, _, value in chosen:
            self._recorder.observed(op, f"{how}ed", delivery.topic, delivery.partition, value=value)
        self._recorder.complete(op, *self.consumer.settle([tag for _, tag, _ in chosen], how))
