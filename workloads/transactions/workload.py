"""The transactions workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.client import LogClients, TransactionalClients
from chaoskit.contract.traits import Transactions
from chaoskit.contract.workload import PRODUCER, Job
from chaoskit.history.schema import AUDITOR
from workloads.log.auditor import audit
from workloads.log.workload import LogWorkload
from workloads.transactions.auditor import probe
from workloads.transactions.options import TransactionsOptions
from workloads.transactions.producer import produce


class TransactionsWorkload(LogWorkload):
    """Entry point `transactions` of `chaoskit.workloads`."""

    options = TransactionsOptions
    client_powers = (LogClients, TransactionalClients)

    def traits(self, options: TransactionsOptions) -> tuple[object, ...]:
        return (*super().traits(options), Transactions())

    def run(self, job: Job[Any]) -> None:
        if job.task.role == PRODUCER:
            produce(job)
        elif job.task.role == AUDITOR:
            audit(job, probe)
        else:
            super().run(job)
