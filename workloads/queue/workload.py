"""The queue workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced, Queueing
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job, Task
from chaoskit.load.options import per_second
from chaoskit.load.workload import LoadWorkload
from chaoskit.model.operation import AUDITOR
from workloads.queue.auditor import audit
from workloads.queue.consumer import consume
from workloads.queue.options import QueueOptions
from workloads.queue.producer import publish
from workloads.queue.topics import exchange_of, settings_of, topics


class QueueWorkload(LoadWorkload):
    """Entry point `queue` of `chaoskit.workloads`."""

    options = QueueOptions
    client_powers: tuple[type, ...] = (QueueClients,)

    def topics(self, options: QueueOptions, brokers: int) -> list[Topic]:
        return topics(options, brokers)

    def tasks(self, options: Any) -> list[Task]:
        others = range(options.consumers, options.consumers + options.dead_consumers)
        return super().tasks(options) + [Task(CONSUMER, index) for index in others]

    def traits(self, options: QueueOptions) -> tuple[object, ...]:
        paced = Paced(per_second(options.rate), options.producers, options.message_size)
        return (paced, _queueing(options))

    def run(self, job: Job[Any]) -> None:
        {PRODUCER: publish, CONSUMER: consume, AUDITOR: audit}[job.task.role](job)


def _queueing(options: QueueOptions) -> Queueing:
    return Queueing(
        options.confirms,
        options.persistent,
        options.consumers + options.dead_consumers,
        mandatory=options.mandatory and options.confirms,
        features=tuple(options.features()),
        exchange=exchange_of(options),
        settings=tuple(settings_of(options).items()),
        unsettled=options.unsettles,
        crashes=options.crash_every is not None,
        leaves=options.leave_every > 0,
    )
