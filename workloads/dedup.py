"""The dedup workload: the log workload, its producers sending again what was not confirmed, as applications do.

Where the system's clients have lasting names and sequence ids, a producer keeps both through all its clients, and a
message that is sent again keeps its value and its sequence id. Elsewhere (Kafka) only the client library sends again,
and a new client goes on with the next message.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from pydantic import Field

from chaoskit.base.quantities import MILLISECOND, Duration
from chaoskit.contract.client import Completed, Producer, SequencedClients
from chaoskit.contract.workload import PRODUCER, Job, Resend
from workloads.log import LogOptions, LogWorkload
from workloads.producing import connect, produce, producer_settings
from workloads.restarting import Restarting
from workloads.resuming import Resuming


class DedupOptions(LogOptions):
    """What a scenario may say of this workload, besides what it may say of `log`.

    Attributes:
        restart_every: how long a producer keeps a client before it gives it up and takes a new one; absent: for ever.
        resend: what a producer with sequence ids sends again, after a send whose outcome nobody knows and after a
            restart: what the system, `asked` for its last sequence id, does not have; all that was `unconfirmed`; or,
            without a new client, each such send `at-once`, behind what was sent meanwhile.
    """

    producers: int = Field(default=2, ge=1, lt=2**20)
    restart_every: Duration | None = Field(default=None, ge=100 * MILLISECOND)
    resend: Literal["asked", "unconfirmed", "at-once"] = "asked"


class DedupWorkload(LogWorkload):
    """Entry point `dedup` of `chaoskit.workloads`."""

    options = DedupOptions

    def resends(self, options: DedupOptions) -> Resend:
        """See `chaoskit.contract.workload.Resending`."""
        return options.resend

    def restarts(self, options: DedupOptions) -> bool:
        """See `chaoskit.contract.workload.Resending`."""
        return options.restart_every is not None

    def run(self, job: Job) -> None:
        if job.task.role == PRODUCER:
            produce(job, _connect)
        else:
            super().run(job)


def _connect(job: Job, completed: Completed) -> Producer:
    options: DedupOptions = job.options
    clients = job.clients
    if not isinstance(clients, SequencedClients):
        return Restarting(job, partial(connect, job, completed), options.restart_every)
    settings, name = producer_settings(job), f"chaoskit-{job.task.index}"
    return Resuming(
        job,
        lambda told: clients.sequenced_producer(settings, name, told),
        completed,
        every_ns=options.restart_every,
        resend=options.resend,
    )
