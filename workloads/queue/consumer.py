"""One consumer of the queue workload."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.clients.client import Settlement
from chaoskit.contract.clients.queue import Arrival, QueueClients, QueueConsumer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.choices import Choices
from chaoskit.load.dead_letters import note_death
from chaoskit.load.draining import Draining
from chaoskit.load.reports import Reports
from chaoskit.load.restarts import Restarts
from chaoskit.load.settings import settings_of
from chaoskit.model import payload
from chaoskit.model.observations.queue import Cancelled, Consuming, Settled
from chaoskit.model.outcome import FAIL, OK
from workloads.queue.options import QueueOptions

_POLL_TIMEOUT_S = 0.1
_MESSAGES_MAX = 1000


def consume(job: Job[QueueOptions]) -> None:
    """Receive and settle until stopped; what is not settled then goes back into its queue."""
    options = job.options
    dead = job.task.index >= options.consumers
    queues = options.dead_names() if dead else options.queue_names()
    receiver = QueueReceiver(job, queues, options.prefetch, settles_all=dead)
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


class QueueReceiver(Draining):
    """A consumer of queues, across all its connections.

    Args:
        job: the client's job.
        queues: their names.
        prefetch: see `QueueOptions`.
        settles_all: whether to acknowledge whatever arrives.
    """

    def __init__(
        self, job: Job[QueueOptions], queues: Sequence[str], prefetch: int, *, settles_all: bool = False
    ) -> None:
        self._clients = job.clients.power(QueueClients)
        self._job = job
        self._options = job.options
        self._settings = settings_of(job.task, job.options.consumer)
        self._prefetch = prefetch
        options = job.options
        self._choices = Choices(options.nack_every, options.leave_every, options.return_every, options.reject_every)
        self._choices.settles_all = settles_all
        super().__init__(job.recorder, job.task.index, queues)

    def take(self) -> int:
        """Receive and settle what is available; return the number of messages."""
        op = self._recorder.invoke("receive")
        arrivals, error = self.consumer.poll(_POLL_TIMEOUT_S, _MESSAGES_MAX)
        received_ns, values = self._recorder.received(op, [arrival.delivery for arrival in arrivals])
        chosen: dict[str, list[tuple[Arrival, int]]] = {"nack": [], "reject": [], "ack": []}
        for arrival, value in zip(arrivals, values, strict=True):
            if value != payload.NO_VALUE:
                note_death(self._recorder, op, arrival, value)
            if self._choices.refuses(value):
                chosen["nack"].append((arrival, value))
            elif self._choices.rejects(value):
                chosen["reject"].append((arrival, value))
            elif not self._choices.leaves(value):
                chosen["ack"].append((arrival, value))
        again = self._note_cancelled(op)
        self._recorder.complete(op, OK if error is None else FAIL, error, received_ns)
        if again:
            self._note_subscribed(again)
        self._settle(chosen["nack"], "nack")
        self._settle(chosen["reject"], "reject")
        self._settle(chosen["ack"], "ack")
        return len(arrivals)

    def crash(self) -> None:
        """Disconnect without a word, and continue as a new client."""
        with self._recorder.operation("crash"):
            self.consumer.close(abruptly=True)
        self.consumer = self._connect()

    def _connect(self) -> QueueConsumer:
        consumer = self._clients.queue_consumer(self._settings, self._index, self._prefetch)
        self._note_subscribed(self.queues)
        consumer.consume(self.queues)
        return consumer

    def _note_subscribed(self, queues: Sequence[str]) -> None:
        with self._recorder.operation("subscribe") as op:
            for queue in queues:
                self._recorder.observe(op, queue, 0, Consuming())

    def _note_cancelled(self, op: int) -> list[str]:
        """Record from which queues it no longer receives; return those from which it receives again."""
        again = []
        for kind, queue in self.consumer.changes():
            if kind == "subscribed":
                again.append(queue)
            else:
                self._recorder.observe(op, queue, 0, Cancelled())
        return again

    def _settle(self, chosen: Sequence[tuple[Arrival, int]], how: Settlement) -> None:
        if not chosen:
            return
        op = self._recorder.invoke(how)
        for arrival, value in chosen:
            self._recorder.observe(op, arrival.delivery.topic, 0, Settled(value, how))
        tags = [arrival.tag for arrival, _ in chosen]
        if how == "ack" and self._options.settle == "multiple":
            tags, how = [max(tags)], "ack-cumulative"
        self._recorder.complete(op, *self.consumer.settle(tags, how))
