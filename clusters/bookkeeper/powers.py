"""What clusters of BookKeeper and their clients can do, by the options, and why they cannot do the rest."""

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
from chaoskit.contract.systems.operating import Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped
from clusters.bookkeeper.options import BookKeeperOptions
from clusters.storage.decommission import GIVEN_AUTO_RECOVERY, decommissioning

_CLIENTS = (LogClients, SeekingClients, TransactionalClients, SequencedClients, SubscribingClients, QueueClients)
_LEDGERS_ONLY = "BookKeeper has ledgers, not topics"

GIVEN: Mapping[type, str] = GIVEN_AUTO_RECOVERY
NEVER: Mapping[type, str] = {
    **dict.fromkeys(_CLIENTS, _LEDGERS_ONLY),
    Leadership: "a ledger has a writer, not a leader",
    Reassignment: "an ensemble changes only when a bookie fails or is decommissioned",
}
NOTYET: Mapping[type, str] = {
    Upgrade: "rolling upgrades are not implemented",
    DataFiles: "use `files:` instead of `what:`",
}


def of_cluster(options: BookKeeperOptions) -> tuple[type, ...]:
    """Return the powers of a running cluster."""
    return (Installation, Tapped, *decommissioning(options))


def of_clients(options: BookKeeperOptions) -> tuple[type, ...]:
    """Return the powers of its clients."""
    return (LedgerClients,)
