"""What clusters of Pulsar and their clients can do, by the options, and why they cannot do the rest."""

from __future__ import annotations

from collections.abc import Mapping

from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import (
    DeletingClients,
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped
from clusters.pulsar.clients import queues
from clusters.pulsar.settings import PulsarOptions
from clusters.storage.decommission import GIVEN_AUTO_RECOVERY, decommissioning

QUEUE_TYPES, QUEUE_FEATURES = queues.TYPES, queues.FEATURES

GIVEN: Mapping[type, str] = {
    **GIVEN_AUTO_RECOVERY,
    **dict.fromkeys((SeekingClients, DeletingClients, ApplicationClients), "clients: pulsar-client"),
    TransactionalClients: "transactions: true, and cluster.clients: java",
}
NEVER: Mapping[type, str] = {
    Reassignment: "topics have no replicas of their own; bookies store their ledgers",
    LedgerClients: "use `system: bookkeeper` to test ledgers",
}
NOTYET: Mapping[type, str] = {
    Upgrade: "rolling upgrades are not implemented",
    DataFiles: "use `files:` instead of `what:`",
}


def of_cluster(options: PulsarOptions) -> tuple[type, ...]:
    """Return the powers of a running cluster."""
    return (Installation, Leadership, Tapped, *decommissioning(options))


def of_clients(options: PulsarOptions) -> tuple[type, ...]:
    """Return the powers of its clients."""
    if options.clients == "java":
        return (LogClients, QueueClients, *((TransactionalClients,) if options.transactions else ()))
    logs = (LogClients, SeekingClients, DeletingClients, SequencedClients, SubscribingClients)
    return (*logs, QueueClients, ApplicationClients)
