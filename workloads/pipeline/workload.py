"""The pipeline workload plug-in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.application import Application
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced, Piped
from chaoskit.contract.workloads.workload import CONSUMER, OBSERVER, PRODUCER, Job, Task
from chaoskit.model.operation import AUDITOR
from workloads.pipeline.auditor import audit
from workloads.pipeline.collector import collect
from workloads.pipeline.endpoint import serve
from workloads.pipeline.feeder import feed
from workloads.pipeline.observer import observe
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.promises import RULES, promises

_ENDPOINT = "endpoint"


class PipelineWorkload:
    """Entry point `pipeline` of `chaoskit.workloads`."""

    options = PipelineOptions
    client_powers: tuple[type, ...] = (LogClients, ApplicationClients)
    rules = RULES
    example: Mapping[str, Any] = {
        "reads": {"topic": "orders"},
        "writes": {"topic": "payments"},
        "application": {"run": ["python3", "app.py", "{endpoints}", "{reads}", "{writes}"]},
    }

    def topics(self, options: PipelineOptions, brokers: int) -> list[Topic]:
        reads = Topic(options.reads.topic, LOG, options.reads.partitions, options.reads.copies(brokers))
        writes = [Topic(sink.name, OUTPUT, sink.partitions, sink.copies(brokers)) for sink in options.topics]
        return [reads, *writes, *(Topic(sink.name, OUTPUT, stored=False) for sink in options.endpoints)]

    def tasks(self, options: PipelineOptions) -> list[Task]:
        collectors = [Task(CONSUMER, 0)] if options.topics else []
        endpoints = [Task(_ENDPOINT, index) for index in range(len(options.endpoints))]
        return [Task(PRODUCER, 0), *collectors, Task(OBSERVER, 0), *endpoints]

    def client_settings(self, options: PipelineOptions, role: str) -> Mapping[str, Any]:
        return options.producer if role == PRODUCER else {}

    def traits(self, options: PipelineOptions) -> tuple[object, ...]:
        return Paced(options.rate, 1, len(options.payload.maker()(0))), Piped(options.promise)

    def promises(self, declared: Declared) -> Mapping[str, str]:
        """See `chaoskit.contract.guarantees.promising.Promising`."""
        return promises(declared)

    def application(self, options: PipelineOptions) -> Application | None:
        """See `chaoskit.contract.workloads.application.Applying`."""
        given = options.application
        if given.run is None:
            return None
        names = {"reads": [options.reads.name], "writes": [sink.name for sink in options.writes]}
        names |= {"http": [sink.name for sink in options.endpoints]}
        restart_ns = None if given.restart == "never" else given.restart.after
        return Application(
            given.run, given.instances, restart_ns, given.env, names, options.reads.partitions, given.ready_within
        )

    def run(self, job: Job[Any]) -> None:
        tasks = {PRODUCER: feed, CONSUMER: collect, OBSERVER: observe, _ENDPOINT: serve, AUDITOR: audit}
        tasks[job.task.role](job)
