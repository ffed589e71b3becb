"""The ledger workload plug-in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced, Recovers
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job, Task
from chaoskit.load.options import per_second
from chaoskit.model.operation import AUDITOR
from workloads.ledger.auditor import audit
from workloads.ledger.consumer import tail
from workloads.ledger.options import TOPIC, LedgerOptions
from workloads.ledger.producer import write
from workloads.ledger.recoverer import RECOVERER, recover


class LedgerWorkload:
    """Entry point `ledger` of `chaoskit.workloads`."""

    options = LedgerOptions
    client_powers = (LedgerClients,)

    def topics(self, options: LedgerOptions, brokers: int) -> list[Topic]:
        return [Topic(TOPIC, LEDGER, partitions=None)]

    def tasks(self, options: LedgerOptions) -> list[Task]:
        writers = [Task(PRODUCER, index) for index in range(options.writers)]
        readers = [Task(CONSUMER, index) for index in range(options.readers)]
        return writers + readers + ([Task(RECOVERER, 0)] if options.recover_every is not None else [])

    def client_settings(self, options: LedgerOptions, role: str) -> Mapping[str, Any]:
        return options.producer if role == PRODUCER else options.consumer

    def traits(self, options: LedgerOptions) -> tuple[object, ...]:
        paced = Paced(per_second(options.rate), options.writers, options.message_size)
        return (paced,) if options.recover_every is None else (paced, Recovers())

    def run(self, job: Job[Any]) -> None:
        {PRODUCER: write, CONSUMER: tail, RECOVERER: recover, AUDITOR: audit}[job.task.role](job)
