"""What each client of a pipeline does."""

from __future__ import annotations

from chaoskit.contract.workloads.workload import CONSUMER, DRAINER, OBSERVER, PRODUCER, Job
from chaoskit.model.operation import AUDITOR
from workloads.pipeline.auditor import audit
from workloads.pipeline.feeder import feed
from workloads.pipeline.observer import observe
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.queues import auditor, receiver, traffic
from workloads.pipeline.queues.drainer import drain
from workloads.pipeline.sinks.endpoint import serve
from workloads.pipeline.sinks.lines import follow
from workloads.pipeline.sinks.rows import query
from workloads.pipeline.sinks.topics import collect

ENDPOINT, LINES, ROWS = "endpoint", "lines", "rows"
"""Roles of clients that only pipelines have: they take what the application writes elsewhere than in the system."""

_TASKS = {
    PRODUCER: feed,
    CONSUMER: collect,
    OBSERVER: observe,
    ENDPOINT: serve,
    LINES: follow,
    ROWS: query,
    AUDITOR: audit,
}
_OF_QUEUES = {CONSUMER: receiver.collect, OBSERVER: traffic.observe, DRAINER: drain, AUDITOR: auditor.audit}


def run_task(job: Job[PipelineOptions]) -> None:
    """Do what the role of a client is."""
    tasks = _TASKS | _OF_QUEUES if job.options.queued else _TASKS
    tasks[job.task.role](job)
