"""One publisher of the feed workload."""

from __future__ import annotations

from chaoskit.contract.client import Completed, Producer
from chaoskit.contract.feed import FeedClients
from chaoskit.contract.workload import Job
from chaoskit.load.producer import produce
from chaoskit.load.settings import settings_of
from workloads.feed.options import FeedOptions


def publish(job: Job[FeedOptions]) -> None:
    """Send until stopped, then wait for every completion."""
    produce(job, connect)


def connect(job: Job[FeedOptions], completed: Completed) -> Producer:
    """Return the publisher of a client."""
    name = job.recorder.in_system(f"{job.task.role}-{job.task.index}")
    return job.clients.power(FeedClients).feed_publisher(settings_of(job.task, job.options.producer), name, completed)
