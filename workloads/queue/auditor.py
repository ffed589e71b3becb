"""The last client of a run: checks that every queue works again, and drains it."""

from __future__ import annotations

import time

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import NoQueue, Publishing, QueueClients, QueueConsumer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.draining import audit_queues
from chaoskit.load.probes import Probes
from chaoskit.model.audit import Drained
from chaoskit.model.observations.queue import Depth
from chaoskit.model.outcome import INFO, OK
from workloads.queue.consumer import QueueReceiver
from workloads.queue.options import NOWHERE, QueueOptions

_PREFETCH = 2000


def audit(job: Job[QueueOptions]) -> None:
    """Probe, drain every queue, and record whether the system says that nothing is left."""
    job.control.wait_start()
    job.control.result({"accepted": _probe(job)})
    recorder = job.recorder
    op = recorder.invoke("audit")
    _note_depths(job, op)
    options = job.options
    receiver = QueueReceiver(job, [*options.dead_names(), *options.queue_names()], _PREFETCH, settles_all=True)
    why = audit_queues(receiver, recorder, options.idle_ns / 1e9, lambda: job.control.stopping)
    if options.unrouted_every:
        recorder.audited(recorder.in_system(NOWHERE), 0, Drained(complete=True))
    receiver.close()
    recorder.complete(op, INFO if why else OK, why or None)
    job.control.report(recorder.report())
    job.control.result({"audited": not why, "why": why})


def _probe(job: Job[QueueOptions]) -> bool:
    """Send one persistent message to every queue; return whether all were confirmed, by the queues that are there."""
    probes = Probes(job)
    clients = job.clients.power(QueueClients)
    deadline = time.monotonic() + job.bound_ns / 1e9
    producer = clients.publisher(job.options.producer, 0, probes.completed, Publishing())
    probes.send(producer)
    producer.close(max(deadline - time.monotonic(), 0.0))
    if probes.accepted:
        return True
    asking = clients.queue_consumer(job.options.consumer, job.task.index, _PREFETCH)
    unanswered = [queue for queue, _ in probes.refused if not _is_gone(asking, queue)]
    asking.close()
    return not unanswered


def _is_gone(asking: QueueConsumer, queue: str) -> bool:
    """Return whether a queue is not there any more: what it had is lost, and the rest may work."""
    try:
        asking.left(queue)
    except NoQueue:
        return True
    except Unreachable:
        pass
    return False


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
