"""The workload plug-in of live clusters (`chaoskit.run.live`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job, Task
from workloads.live.options import LiveOptions


class LiveWorkload:
    """Entry point `live` of `chaoskit.workloads`: it has no client of its own."""

    options = LiveOptions
    client_powers: tuple[type, ...] = ()
    example: Mapping[str, Any] = {"topics": [{"name": "orders"}]}

    def topics(self, options: LiveOptions, brokers: int) -> list[Topic]:
        return [Topic(topic.name, LOG, topic.partitions, topic.copies(brokers)) for topic in options.topics]

    def tasks(self, options: LiveOptions) -> list[Task]:
        return []

    def client_settings(self, options: LiveOptions, role: str) -> Mapping[str, Any]:
        return {PRODUCER: options.producer, CONSUMER: options.consumer}.get(role, {})

    def traits(self, options: LiveOptions) -> tuple[object, ...]:
        return ()

    def run(self, job: Job[Any]) -> None:
        raise NotImplementedError("the clients of a live cluster are run by others")
