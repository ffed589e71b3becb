"""One producer of the queue workload."""

from __future__ import annotations

from chaoskit.contract.client import Completed, Producer, QueueClients
from chaoskit.contract.workload import Job
from workloads.log.producer import produce
from workloads.log.sending import producer_settings
from workloads.queue.options import QueueOptions


def publish(job: Job[QueueOptions]) -> None:
    """Send until stopped, then wait for every confirm."""
    produce(job, _connect)


def _connect(job: Job[QueueOptions], completed: Completed) -> Producer:
    options, clients = job.options, job.clients.power(QueueClients)
    settings = producer_settings(job)
    producer = clients.publisher(
        settings, job.task.index, completed, confirms=options.confirms, persistent=options.persistent
    )
    producer.poll(_CONNECT_S)
    return producer


_CONNECT_S = 0.5
"""Time that a new publisher is given to connect."""
