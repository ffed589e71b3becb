"""What clusters of RabbitMQ and their clients can do, by the options, and why they cannot do the rest."""

from __future__ import annotations

from collections.abc import Mapping

from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import (
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.clients.traffic import QueueApplicationClients
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped
from clusters.rabbitmq.settings import RabbitOptions

_QUEUES = "use workload.kind: queue, or log"

GIVEN: Mapping[type, str] = dict.fromkeys((QueueClients, QueueApplicationClients, SequencedClients), "clients: default")
NEVER: Mapping[type, str] = {
    LedgerClients: _QUEUES,
    SubscribingClients: _QUEUES,
    TransactionalClients: "AMQP transactions cover one queue only and are slower than confirms",
    Upgrade: "4.3 can be reached from 4.2 only, and 4.0 from 3.13 (their release notes); Debian has neither",
}
NOTYET: Mapping[type, str] = {
    ApplicationClients: "use queues: workload.reads.queue",
    SeekingClients: "consumers of streams that move while they read are not implemented",
    DataFiles: "use `files:` instead of `what:`",
}


def of_cluster(options: RabbitOptions) -> tuple[type, ...]:
    """Return the powers of a running cluster."""
    return (Installation, Leadership, Reassignment, Decommissioning, Tapped)


def of_clients(options: RabbitOptions) -> tuple[type, ...]:
    """Return the powers of its clients."""
    if options.clients == "rstream":
        return (LogClients,)
    return (QueueClients, QueueApplicationClients, LogClients, SequencedClients)
