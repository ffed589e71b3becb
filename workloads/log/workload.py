"""The log workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.client import LogClients
from chaoskit.contract.topic import Topic
from chaoskit.contract.traits import Backlog, Group, Paced, Routed
from chaoskit.contract.workload import CONSUMER, PRODUCER, Job
from chaoskit.history.models import DataModel
from chaoskit.history.schema import AUDITOR
from workloads.common.options import per_second
from workloads.common.workload import LoadWorkload
from workloads.log.auditor import audit
from workloads.log.consumer import consume
from workloads.log.options import BacklogOptions, LogOptions
from workloads.log.producer import produce

_REPLICATION = 3
_CAUGHT_UP = 1000
"""This many messages may wait for consumers that have caught up."""


class LogWorkload(LoadWorkload):
    """Entry point `log` of `chaoskit.workloads`."""

    options: type[LogOptions] = LogOptions
    client_powers: tuple[type, ...] = (LogClients,)

    def topics(self, options: LogOptions, brokers: int) -> list[Topic]:
        replication = options.replication or min(_REPLICATION, brokers)
        return [
            Topic(name, DataModel.LOG, options.partitions, replication, options.type) for name in options.topic_names()
        ]

    def traits(self, options: Any) -> tuple[object, ...]:
        paced = Paced(per_second(options.rate), options.producers, options.message_size)
        routed = Routed(tuple((topic, partition) for topic, partition, _ in options.routes()))
        members = -(-options.consumers // options.groups)
        group = (Group(options.groups, members),) if options.consumption == "group" else ()
        backlog = () if options.backlog is None else (_backlog(options.backlog, options),)
        return (paced, routed, *group, *backlog)

    def run(self, job: Job[Any]) -> None:
        {PRODUCER: produce, CONSUMER: consume, AUDITOR: audit}[job.task.role](job)


def _backlog(wanted: BacklogOptions, options: LogOptions) -> Backlog:
    messages = -(-wanted.size // options.message_size)
    left = max(_CAUGHT_UP, int((1 - wanted.drain) * messages))
    return Backlog(wanted.after, options.groups, messages, left, wanted.within)
