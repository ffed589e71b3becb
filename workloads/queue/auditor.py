"""The last client of a run: checks that every queue works again, and drains it."""

from __future__ import annotations

import time

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import Publishing, QueueClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.probes import Probes
from chaoskit.model.audit import Drained
from chaoskit.model.observations.queue import Depth
from chaoskit.model.outcome import INFO, OK
from workloads.queue.consumer import QueueReceiver
from workloads.queue.options import NOWHERE, QueueOptions

_STALL_S = 60
"""A drain that receives nothing for this long, while the system says that something is left, ends incomplete."""

_PREFETCH = 2000
_ASK_EVERY_S = 0.5
_RENEWALS = 2
"""How often the final read of a queue that is empty connects again, to another node each time."""

_RENEWED_S = 1.0
"""How long nothing must arrive from an empty queue after the final read connected again."""


def audit(job: Job[QueueOptions]) -> None:
    """Probe, drain every queue, and record whether the system says that nothing is left."""
    job.control.wait_start()
    job.control.result({"accepted": _probe(job)})
    recorder = job.recorder
    op = recorder.invoke("audit")
    _note_depths(job, op)
    drain = _Drain(job)
    drain.run()
    left = {queue: why for queue in drain.receiver.queues if (why := drain.left.get(queue, "was not asked"))}
    for queue in drain.receiver.queues:
        recorder.audited(queue, 0, Drained(complete=queue not in left))
    if job.options.unrouted_every:
        recorder.audited(recorder.in_system(NOWHERE), 0, Drained(complete=True))
    drain.receiver.close()
    why = "; ".join(f"{recorder.in_history(queue)} {why}" for queue, why in left.items())
    recorder.complete(op, INFO if left else OK, why or None)
    job.control.report(recorder.report())
    job.control.result({"audited": not left, "why": why})


def _probe(job: Job[QueueOptions]) -> bool:
    """Send one persistent message to every queue; return whether all were confirmed."""
    probes = Probes(job)
    clients = job.clients.power(QueueClients)
    deadline = time.monotonic() + job.bound_ns / 1e9
    producer = clients.publisher(job.options.producer, 0, probes.completed, Publishing())
    probes.send(producer)
    producer.close(max(deadline - time.monotonic(), 0.0))
    return probes.accepted


def _note_depths(job: Job[QueueOptions], op: int) -> None:
    """Record how many messages each queue has, as the system says, while nobody has any that it did not settle."""
    asking = job.clients.power(QueueClients).queue_consumer(job.options.consumer, job.task.index, _PREFETCH)
    asking.consume([])
    for queue in map(job.recorder.in_system, job.options.queue_names()):
        try:
            ready, consumers = asking.left(queue)
        except Unreachable:
            continue
        if not consumers:
            job.recorder.observe(op, queue, 0, Depth(ready))
    asking.close()


class _Drain:
    """The final read.

    Attributes:
        receiver: receives and acknowledges everything.
        left: why each queue may not be empty; an empty text for one that is.
    """

    def __init__(self, job: Job[QueueOptions]) -> None:
        options = job.options
        self.receiver = QueueReceiver(job, [*options.dead_names(), *options.queue_names()], _PREFETCH, settles_all=True)
        self.left: dict[str, str] = {}
        self._job = job

    def run(self) -> None:
        """Receive until nothing arrives any more and the system says that every queue is empty."""
        idle_s = self._job.options.idle_ns / 1e9
        moved_at = asked_at = time.monotonic()
        renewed = 0
        while not self._job.control.stopping:
            now = time.monotonic()
            if self.receiver.take():
                moved_at = now
            elif now - moved_at > idle_s and now - asked_at > _ASK_EVERY_S:
                self.left = {queue: self._lacks(queue) for queue in self.receiver.queues}
                asked_at = time.monotonic()
                empty = not any(self.left.values())
                if asked_at - moved_at > _STALL_S or (renewed == _RENEWALS and empty):
                    return
                if empty:
                    # What was delivered to this consumer and did not arrive comes again to one on another node.
                    self.receiver.renew()
                    renewed, idle_s, moved_at = renewed + 1, _RENEWED_S, asked_at

    def _lacks(self, queue: str) -> str:
        """Return why a queue may hold messages; empty if it holds none.

        What another consumer has and did not settle is in no number that the system tells, so there must be none.
        """
        try:
            ready, consumers = self.receiver.consumer.left(queue)
        except Unreachable as error:
            return str(error)
        if ready:
            return f"has {ready:,} undelivered messages"
        return f"has {consumers} consumers, which may hold messages" if consumers > 1 else ""
