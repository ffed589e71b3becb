"""One publisher of the feed workload."""

from __future__ import annotations

from chaoskit.contract.clients.client import Completed, Producer
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.producer import produce
from chaoskit.load.settings import settings_of
from workloads.feed.options import FeedOptions


def publish(job: Job[FeedOptions]) -> None:
    """Send until stopped, then wait for every completion."""
    produce(job, connect)


def connect(job: Job[FeedOptions], completed: Completed) -> Producer:
    """Return the publisher of a client."""
    clients, settings = job.clients.power(FeedClients), settings_of(job.task, job.options.producer)
    name = job.recorder.in_system(job.task.client)
    topics = [job.recorder.in_system(topic) for topic in job.options.topic_names()]
    return clients.feed_publisher(settings, name, topics, completed)
