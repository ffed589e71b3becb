"""One producer of the queue workload."""

from __future__ import annotations

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.clients.client import Completed, Producer
from chaoskit.contract.clients.queue import Publisher, Publishing, QueueClients
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.producer import produce
from chaoskit.load.settings import settings_of
from chaoskit.model import payload
from chaoskit.model.observations.queue import Prioritised
from workloads.queue.options import QueueOptions
from workloads.queue.topics import declare


def publish(job: Job[QueueOptions]) -> None:
    """Send until stopped, then wait for every confirm."""
    if job.task.index == job.task.incarnation == 0:
        declare(job.recorder, job.options)
    produce(job, _connect)


def publishing(options: QueueOptions) -> Publishing:
    """Return how the load is published."""
    ttl_ms = None if options.message_ttl is None else options.message_ttl // MILLISECOND
    return Publishing(options.confirms, options.persistent, options.mandatory and options.confirms, ttl_ms)


def _connect(job: Job[QueueOptions], completed: Completed) -> Producer:
    clients, options = job.clients.power(QueueClients), job.options
    producer = clients.publisher(
        settings_of(job.task, options.producer), job.task.index, completed, publishing(options)
    )
    return _Prioritised(producer, job.recorder, options.priorities) if options.priorities else producer


class _Prioritised:
    """A producer whose messages have priorities in turn, which are recorded.

    Args:
        publisher: publishes them.
        recorder: records them.
        levels: number of priorities.
    """

    def __init__(self, publisher: Publisher, recorder: Recorder, levels: int) -> None:
        self.pending = publisher.pending
        self.poll = publisher.poll
        self.close = publisher.close
        self._publisher = publisher
        self._recorder = recorder
        self._levels = levels
        self._next = 0

    def send(self, topic: str, partition: int, key: bytes | None, content: bytes, token: int) -> bool:
        """See `chaoskit.contract.clients.client.Producer`."""
        priority = self._next % self._levels
        if not self._publisher.publish(topic, content, token, priority):
            return False
        self._next += 1
        value = payload.value_of(content)
        self._recorder.observe(token, topic, partition, Prioritised(value, priority))
        return True
