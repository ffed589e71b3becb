"""What clusters of RocketMQ and their clients can do, by the options, and why they cannot do the rest."""

from __future__ import annotations

from collections.abc import Mapping

from chaoskit.contract.clients.client import (
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped
from clusters.rocketmq.settings import RocketOptions

GIVEN: Mapping[type, str] = {QueueClients: "proxies: 1 or more"}
NEVER: Mapping[type, str] = {
    SequencedClients: "applications cannot set sequence ids, and brokers recognise no duplicates",
    SubscribingClients: "a queue is read by one consumer of a group",
    LedgerClients: "RocketMQ has queues of topics, not ledgers",
    Reassignment: "a broker's queues stay with the brokers of its name",
}
NOTYET: Mapping[type, str] = {
    SeekingClients: "consumers that move while they read are not implemented",
    Leadership: "electing another master on purpose is not implemented",
    Decommissioning: "brokers cannot be taken away",
    Upgrade: "rolling upgrades are not implemented",
    DataFiles: "use `files:` instead of `what:`",
}


def of_cluster(options: RocketOptions) -> tuple[type, ...]:
    """Return the powers of a running cluster."""
    return (Installation, Tapped)


def of_clients(options: RocketOptions) -> tuple[type, ...]:
    """Return the powers of its clients."""
    by_proxies = (QueueClients,) if options.proxies else ()
    return (LogClients, TransactionalClients, *by_proxies)
