"""The pipeline workload plug-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chaoskit.base.errors import Problems
from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.clients.traffic import QueueApplicationClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.application import Application, DatabaseUse
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced, Piped, Queueing
from chaoskit.contract.workloads.workload import CONSUMER, OBSERVER, PRODUCER, Job, Task
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.promises import RULES, promises
from workloads.pipeline.sinks.lines import check_files
from workloads.pipeline.sinks.options import POSTGRESQL, STDOUT
from workloads.pipeline.sinks.rows import check_query
from workloads.pipeline.tasks import ENDPOINT, LINES, ROWS, run_task


class PipelineWorkload:
    """Entry point `pipeline` of `chaoskit.workloads`."""

    options = PipelineOptions
    client_powers: tuple[type, ...] = ()
    rules = RULES
    example: Mapping[str, Any] = {
        "reads": {"topic": "orders"},
        "writes": {"topic": "payments"},
        "application": {"run": ["python3", "app.py", "{endpoints}", "{reads}", "{writes}"]},
    }

    others: Sequence[Mapping[str, Any]] = ({**example, "reads": {"queue": "orders"}, "writes": {"queue": "payments"}},)

    def powers(self, options: PipelineOptions) -> tuple[type, ...]:
        """See `chaoskit.contract.workloads.workload.Alternating`."""
        return (QueueClients, QueueApplicationClients) if options.queued else (LogClients, ApplicationClients)

    def topics(self, options: PipelineOptions, brokers: int) -> list[Topic]:
        source, model = options.reads, QUEUE if options.queued else LOG
        copies, settings = source.copies(brokers), tuple(source.settings.items())
        reads = [Topic(source.name, model, source.partitions, copies, source.type, settings)]
        if source.dead_name:
            reads.append(Topic(source.dead_name, QUEUE, 1, copies, source.type, (("dead-letters-of", 1),)))
        writes = [Topic(sink.name, OUTPUT, sink.partitions, sink.copies(brokers), sink.type) for sink in options.topics]
        others = [Topic(sink.name, OUTPUT, stored=False) for sink in (*options.endpoints, *options.rows)]
        lines = [Topic(sink.name, OUTPUT, options.writers(sink), stored=False) for sink in options.files]
        return [*reads, *writes, *others, *lines]

    def tasks(self, options: PipelineOptions) -> list[Task]:
        collectors = [Task(CONSUMER, 0)] if options.topics else []
        endpoints = [Task(ENDPOINT, index) for index in range(len(options.endpoints))]
        lines = [Task(LINES, 0)] if options.files else []
        rows = [Task(ROWS, index) for index in range(len(options.rows))]
        return [Task(PRODUCER, 0), *collectors, Task(OBSERVER, 0), *endpoints, *lines, *rows]

    def client_settings(self, options: PipelineOptions, role: str) -> Mapping[str, Any]:
        return options.producer if role == PRODUCER else {}

    def traits(self, options: PipelineOptions) -> tuple[object, ...]:
        of_sinks = tuple((sink.name, sink.promise) for sink in options.writes if sink.promise)
        paced, piped = Paced(options.rate, 1, len(options.payload.maker()(0))), Piped(options.promise, of_sinks)
        queueing = Queueing(confirms=True, persistent=True, consumers=options.application.instances)
        return (paced, piped, queueing) if options.queued else (paced, piped)

    def promises(self, declared: Declared) -> Mapping[str, str]:
        """See `chaoskit.contract.guarantees.promising.Promising`."""
        return promises(declared)

    def fed(
        self, options: PipelineOptions, feeder: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> PipelineOptions:
        """See `chaoskit.contract.workloads.application.Applying`."""
        return options if options.queued else options.model_copy(update={"producer": dict(feeder(options.producer))})

    def application(self, options: PipelineOptions) -> Application | None:
        """See `chaoskit.contract.workloads.application.Applying`."""
        given = options.application
        writes = [sink.name if sink.placed else "" for sink in options.writes]
        names = {"reads": [options.reads.name], "writes": writes}
        names |= {"http": [sink.name for sink in options.endpoints]}
        stdout = any(sink.lines == STDOUT for sink in options.files)
        files = {sink.name: sink.lines for sink in options.files if sink.lines and sink.placed}
        restart_ns = None if given.restart == "never" else given.restart.after
        return Application(
            given.run or (),
            0 if given.external else given.instances,
            restart_ns,
            given.env,
            names,
            # Of a queue, each instance must have become a consumer.
            given.instances if options.queued else options.reads.partitions,
            given.ready_within,
            stdout,
            _database(options),
            files,
        )

    def check(self, options: PipelineOptions) -> None:
        """See `chaoskit.contract.workloads.workload.Checking`."""
        problems = Problems()
        for index, sink in enumerate(options.writes):
            if sink.lines is not None:
                problems.tried(check_files, sink, options.writers(sink), f"workload.writes.{index}")
            if sink.sql is not None:
                problems.tried(check_query, sink, f"workload.writes.{index}")
        problems.raise_any()

    def run(self, job: Job[Any]) -> None:
        run_task(job)


def _database(options: PipelineOptions) -> DatabaseUse | None:
    """Return the database that is run for the application."""
    sink = options.database
    if sink is None or sink.postgresql is None:
        return None
    key = f"workload.writes.{options.writes.index(sink)}.{POSTGRESQL}"
    return DatabaseUse(POSTGRESQL, sink.postgresql, sink.tables, key)
