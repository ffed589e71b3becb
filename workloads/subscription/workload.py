"""The subscription workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.client import LogClients, SubscribingClients
from chaoskit.contract.traits import Group, Paced, Subscription
from chaoskit.contract.workload import CONSUMER, Job
from workloads.log.workload import LogWorkload
from workloads.subscription.consumer import subscribe
from workloads.subscription.options import SubscriptionOptions


class SubscriptionWorkload(LogWorkload):
    """Entry point `subscription` of `chaoskit.workloads`."""

    options = SubscriptionOptions
    client_powers = (LogClients, SubscribingClients)

    def traits(self, options: SubscriptionOptions) -> tuple[object, ...]:
        paced = Paced(options.rate, options.producers, options.message_size)
        return (paced, Group(), Subscription(options.subscription))

    def run(self, job: Job[Any]) -> None:
        if job.task.role == CONSUMER:
            subscribe(job)
        else:
            super().run(job)
