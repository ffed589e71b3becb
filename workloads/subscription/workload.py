"""The subscription workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.clients.client import LogClients, SubscribingClients
from chaoskit.contract.workloads.traits import Group, Subscription
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.logs import PartitionedWorkload
from workloads.subscription.consumer import subscribe
from workloads.subscription.options import SubscriptionOptions


class SubscriptionWorkload(PartitionedWorkload):
    """Entry point `subscription` of `chaoskit.workloads`."""

    options = SubscriptionOptions
    client_powers = (LogClients, SubscribingClients)

    def traits(self, options: SubscriptionOptions) -> tuple[object, ...]:
        return (*super().traits(options), Group(), Subscription(options.subscription))

    def consume(self, job: Job[Any]) -> None:
        subscribe(job)
