"""The transactions workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.clients.client import LogClients, TransactionalClients
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.auditor import audit
from chaoskit.load.logs import GroupedWorkload
from workloads.transactions.auditor import probe
from workloads.transactions.options import TransactionsOptions
from workloads.transactions.producer import produce


class TransactionsWorkload(GroupedWorkload):
    """Entry point `transactions` of `chaoskit.workloads`."""

    options = TransactionsOptions
    client_powers = (LogClients, TransactionalClients)

    def traits(self, options: TransactionsOptions) -> tuple[object, ...]:
        return (*super().traits(options), Transactions(options.messages))

    def produce(self, job: Job[Any]) -> None:
        produce(job)

    def audit(self, job: Job[Any]) -> None:
        audit(job, probe)
