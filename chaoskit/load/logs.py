"""What workloads on logs have in common: topics, traits, consumers and the final read."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group, Paced, Replays, Routed
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job
from chaoskit.load.auditor import audit
from chaoskit.load.consumer import consume
from chaoskit.load.options import per_second
from chaoskit.load.partitioned import PartitionedOptions
from chaoskit.load.producer import produce
from chaoskit.load.workload import LoadWorkload
from chaoskit.model.operation import AUDITOR


class PartitionedWorkload(LoadWorkload):
    """A workload whose producers send to partitions of logs."""

    client_powers: tuple[type, ...] = (LogClients,)

    def topics(self, options: PartitionedOptions, brokers: int) -> list[Topic]:
        copies = options.copies(brokers)
        return [Topic(name, LOG, options.partitions, copies, options.type) for name in options.topic_names()]

    def traits(self, options: Any) -> tuple[object, ...]:
        return (Paced(per_second(options.rate), options.producers, options.message_size),)

    def run(self, job: Job[Any]) -> None:
        {PRODUCER: self.produce, CONSUMER: self.consume, AUDITOR: self.audit}[job.task.role](job)

    def produce(self, job: Job[Any]) -> None:
        """Run one producer."""
        produce(job)

    def consume(self, job: Job[Any]) -> None:
        """Run one consumer."""
        consume(job)

    def audit(self, job: Job[Any]) -> None:
        """Run the final read."""
        audit(job)


class GroupedWorkload(PartitionedWorkload):
    """A workload whose consumers read partitions of their own, or as members of groups."""

    def traits(self, options: Any) -> tuple[object, ...]:
        places = tuple((topic, partition) for topic, partition, _ in options.routes())
        routed = Routed(places, keyed=options.keys > 0)
        members = -(-options.consumers // options.groups)
        group = (Group(options.groups, members),) if options.consumption == "group" else ()
        replays = () if options.replay is None else (Replays(options.replay.after, options.replay.by == "time"),)
        return (*super().traits(options), routed, *group, *replays)
