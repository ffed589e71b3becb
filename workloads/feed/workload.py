"""The feed workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Leaving, Paced
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job
from chaoskit.load.options import per_second
from chaoskit.load.workload import LoadWorkload
from chaoskit.model.operation import AUDITOR
from workloads.feed.auditor import audit
from workloads.feed.options import FeedOptions
from workloads.feed.publisher import publish
from workloads.feed.roll import roll_topic
from workloads.feed.subscriber import subscribe


class FeedWorkload(LoadWorkload):
    """Entry point `feed` of `chaoskit.workloads`."""

    options: type[FeedOptions] = FeedOptions
    client_powers: tuple[type, ...] = (FeedClients,)

    def topics(self, options: FeedOptions, brokers: int) -> list[Topic]:
        return [Topic(name, PUBSUB) for name in options.topic_names()]

    def side_topics(self, options: FeedOptions) -> list[Topic]:
        """See `chaoskit.contract.workloads.workload.SideTopics`: where each subscriber answers the final read."""
        return [Topic(roll_topic(index), PUBSUB) for index in range(options.consumers)]

    def traits(self, options: FeedOptions) -> tuple[object, ...]:
        paced = Paced(per_second(options.rate), options.producers, options.message_size)
        return (paced, Leaving(options.leavers)) if options.leavers else (paced,)

    def run(self, job: Job[Any]) -> None:
        {PRODUCER: publish, CONSUMER: subscribe, AUDITOR: audit}[job.task.role](job)
