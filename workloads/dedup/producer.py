"""The producer of the dedup workload, which uses as many clients as necessary."""

from __future__ import annotations

from functools import partial

from chaoskit.contract.clients.client import Completed, Producer, SequencedClients
from chaoskit.contract.power import optional
from chaoskit.contract.workloads.workload import Job
from chaoskit.load import producer
from chaoskit.load.settings import settings_of
from workloads.dedup.options import DedupOptions
from workloads.dedup.restarting import Restarting
from workloads.dedup.resuming import Resuming


def connect(job: Job[DedupOptions], completed: Completed) -> Producer:
    """Return the producer of a client."""
    options = job.options
    clients = optional(job.clients, SequencedClients)
    if clients is None:
        return Restarting(job, partial(producer.connect, job, completed), options.restart_every)
    settings, name = settings_of(job.task, job.options.producer), job.recorder.in_system(f"chaoskit-{job.task.index}")
    return Resuming(
        job,
        lambda callback: clients.sequenced_producer(settings, name, callback),
        completed,
        every_ns=options.restart_every,
        resend=options.resend,
    )
