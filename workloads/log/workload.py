"""The log workload plug-in."""

from __future__ import annotations

from chaoskit.contract.clients.client import Completed, DeletingClients, DeletingProducer
from chaoskit.contract.workloads.traits import Backlog, Deletes
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.logs import GroupedWorkload
from chaoskit.load.producer import produce
from chaoskit.load.settings import settings_of
from workloads.log.options import BacklogOptions, LogOptions

_CAUGHT_UP = 1000
"""This many messages may wait for consumers that have caught up."""


class LogWorkload(GroupedWorkload):
    """Entry point `log` of `chaoskit.workloads`."""

    options = LogOptions

    others = ({"keys": 10, "delete_every": 5},)

    def powers(self, options: LogOptions) -> tuple[type, ...]:
        """See `chaoskit.contract.workloads.workload.Alternating`."""
        return (DeletingClients,) if options.delete_every else ()

    def produce(self, job: Job[LogOptions]) -> None:
        """Run one producer."""
        if job.options.delete_every:
            produce(job, _connect, job.options.deletes)
        else:
            produce(job)

    def traits(self, options: LogOptions) -> tuple[object, ...]:
        backlog = () if options.backlog is None else (_backlog(options.backlog, options),)
        deletes = (Deletes(),) if options.delete_every else ()
        return (*super().traits(options), *backlog, *deletes)


def _connect(job: Job[LogOptions], completed: Completed) -> DeletingProducer:
    return job.clients.power(DeletingClients).deleting_producer(settings_of(job.task, job.options.producer), completed)


def _backlog(wanted: BacklogOptions, options: LogOptions) -> Backlog:
    messages = -(-wanted.size // options.message_size)
    left = max(_CAUGHT_UP, int((1 - wanted.drain) * messages))
    return Backlog(wanted.after, options.groups, messages, left, wanted.within)
