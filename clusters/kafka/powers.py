"""What clusters of Kafka and their clients can do, by the options, and why they cannot do the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import (
    DeletingClients,
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import (
    AccessControl,
    Certificates,
    ClientQuotas,
    Decommissioning,
    GroupOffsets,
    Leadership,
    LogDirectories,
    Migration,
    PartitionAdding,
    Reassignment,
    RecordDeletion,
    Upgrade,
    Voting,
)
from chaoskit.contract.systems.service import ClassPath, DataFiles
from chaoskit.contract.systems.wire import Tapped
from clusters.kafka.artifacts import has_tools
from clusters.kafka.clients.settings import ALIASES
from clusters.kafka.metadata import can_migrate
from clusters.kafka.roles import OF_ZOOKEEPER, ROLES
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.shares import queues
from clusters.kafka.tiered.options import OBJECT_STORE

QUEUE_FEATURES = queues.FEATURES

GIVEN: Mapping[type, str] = {
    **dict.fromkeys((GroupOffsets, Leadership, Reassignment), "version: 4.0.0 or later"),
    Upgrade: "metadata: kraft, tiered_storage: null",
    **dict.fromkeys((SeekingClients, DeletingClients), "clients: librdkafka"),
    QueueClients: "version: 4.2.0 or later",
    AccessControl: "security: {sasl: plain, acls: true}",
    Certificates: "security: {tls: true}",
    LogDirectories: "log_dirs: [data/a, data/b]",
    Voting: "voters: dynamic",
    Migration: "zookeeper.hosts: 1",
    ClientQuotas: "metadata: kraft",
}
NEVER: Mapping[type, str] = {
    SequencedClients: "applications cannot set sequence ids; a new producer starts a new sequence",
    LedgerClients: "Kafka has partitions, not ledgers",
}
NOTYET: Mapping[type, str] = {
    SubscribingClients: "share groups (KIP-932) are there as queues; use workload.kind: queue",
    Decommissioning: "use `reassign` or `remove-broker` to drain a broker",
}


_FEEDER = {"delivery.timeout.ms": 600_000, "max.in.flight.requests.per.connection": 1}
"""Librdkafka stores messages twice once it has given a send up, and rarely when leadership moves with several requests
in flight (issue 4953)."""


def roles(options: KafkaOptions) -> tuple[str, ...]:
    """Return the roles that faults can name."""
    zookeeper: tuple[str, ...] = () if options.in_zookeeper else OF_ZOOKEEPER
    store = () if options.tiered_storage else (OBJECT_STORE,)
    return tuple(role for role in ROLES if role not in (*zookeeper, *store))


def of_cluster(options: KafkaOptions) -> tuple[type, ...]:
    """Return the powers of a running cluster."""
    directories = (LogDirectories,) if len(options.log_dirs) > 1 else ()
    voting = (Voting,) if options.voters == "dynamic" else ()
    by_tools = (Leadership, Reassignment, GroupOffsets, *directories, *voting) if has_tools(options.version) else ()
    quotas = () if options.in_zookeeper else (ClientQuotas,)
    upgrade = () if options.in_zookeeper or options.tiered_storage else (Upgrade,)
    migration = (Migration,) if can_migrate(options) else ()
    tapped = () if options.security else (Tapped,)
    access = (AccessControl,) if options.security is not None and options.security.acls else ()
    tls = (Certificates,) if options.security is not None and options.security.tls else ()
    secured = (*access, *tls)
    by_admin = (RecordDeletion, PartitionAdding, *quotas, *upgrade, *migration)
    return (Installation, DataFiles, ClassPath, *secured, *by_admin, *by_tools, *tapped)


def of_clients(options: KafkaOptions) -> tuple[type, ...]:
    """Return the powers of its clients."""
    shared = (QueueClients,) if queues.has_share_groups(options) else ()
    if options.clients == "java":
        return (LogClients, TransactionalClients, *shared)
    logs = (LogClients, SeekingClients, DeletingClients, TransactionalClients)
    return (*logs, FeedClients, ApplicationClients, *shared)


def of_feeder(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a producer that feeds an application: as given, and those with which it sends once."""
    named = {ALIASES.get(key, key) for key in given}
    return {**{key: value for key, value in _FEEDER.items() if key not in named}, **given}
