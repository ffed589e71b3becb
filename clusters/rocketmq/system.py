"""The RocketMQ plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.clients.client import (
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients, QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.benchmark import Driven
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped, Wire
from chaoskit.contract.workloads.datamodel import LOG, QUEUE, DataModel
from chaoskit.contract.workloads.traits import Transactions
from clusters.common.diagnosis import java_and_jars
from clusters.common.java import check_java
from clusters.rocketmq import artifacts
from clusters.rocketmq.clients.benchmark import DRIVER_CLASS, driven
from clusters.rocketmq.clients.clients import RocketClients
from clusters.rocketmq.clients.queues import TYPES, check_queues
from clusters.rocketmq.clients.settings import check_clients
from clusters.rocketmq.connection import CLASSPATH
from clusters.rocketmq.deploy.cluster import RocketCluster
from clusters.rocketmq.guarantees.rules import GUARANTEES
from clusters.rocketmq.known import check_names, check_topology
from clusters.rocketmq.python.client import PythonClients, check_python_clients
from clusters.rocketmq.roles import CONTROLLER_LEADER, ROLES
from clusters.rocketmq.settings import WIRE, RocketOptions

_JAVA_MIN = 11
"""Brokers need Java 8, the options of the JVM that they are started with Java 9, the relay Java 11."""


class RocketSystem:
    """Entry point `rocketmq` of `chaoskit.clusters`."""

    options = RocketOptions
    driver_class = DRIVER_CLASS
    roles = ROLES
    models = (LOG, QUEUE)
    types: Mapping[DataModel, Sequence[str]] = {QUEUE: TYPES}
    unreplicated: Collection[str] = ()
    exchanges: Collection[str] = ()
    queue_features = (
        QueueFeature.CONFIRMS,
        QueueFeature.RETURNS,
        QueueFeature.DELAY,
        QueueFeature.PREFETCH,
        QueueFeature.REFUSAL,
        QueueFeature.DELIVERY_LIMIT,
        QueueFeature.DEAD_LETTERS,
    )
    guarantees = GUARANTEES
    given: Mapping[type, str] = {QueueClients: "proxies: 1 or more"}
    never: Mapping[type, str] = {
        SequencedClients: "applications cannot set sequence ids, and brokers recognise no duplicates",
        SubscribingClients: "a queue is read by one consumer of a group",
        LedgerClients: "RocketMQ has queues of topics, not ledgers",
        Reassignment: "a broker's queues stay with the brokers of its name",
    }
    notyet: Mapping[type, str] = {
        SeekingClients: "consumers that move while they read are not implemented",
        Leadership: "electing another master on purpose is not implemented",
        Decommissioning: "brokers cannot be taken away",
        Upgrade: "rolling upgrades are not implemented",
        DataFiles: "queues share one commit log; use `files:` instead of `what:`",
    }

    def roles_with(self, options: RocketOptions) -> Collection[str]:
        """See `chaoskit.contract.systems.system.Varied`."""
        return [role for role in ROLES if role != CONTROLLER_LEADER or options.elects]

    def service_powers(self, options: RocketOptions) -> tuple[type, ...]:
        return (Installation, Tapped)

    def client_powers(self, options: RocketOptions) -> tuple[type, ...]:
        by_proxies = (QueueClients,) if options.proxies else ()
        return (LogClients, TransactionalClients, *by_proxies)

    def check(self, declared: Declared) -> None:
        options: RocketOptions = declared.options
        artifacts.parse_version(options.version)
        problems = Problems()
        problems.tried(check_topology, options, declared.hosts)
        problems.tried(check_java, _JAVA_MIN, f"RocketMQ {options.version}")
        problems.tried(check_python_clients if options.clients == "python" else check_clients, declared)
        problems.tried(_check_transactions, declared)
        problems.tried(check_queues, declared)
        problems.raise_any()

    def is_fetched(self, options: RocketOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def prepare(self, options: RocketOptions) -> None:
        check_names(options, artifacts.fetch(options.version))

    def deployment(self, options: RocketOptions) -> RocketOptions:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: RocketOptions) -> RocketCluster:
        return RocketCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> RocketClients | PythonClients:
        return PythonClients(settings) if CLASSPATH not in settings else RocketClients(settings)

    def brokers(self, options: RocketOptions, hosts: int) -> int:
        return hosts

    def wire(self, options: RocketOptions) -> Wire:
        """See `chaoskit.contract.systems.wire.Decoding`."""
        return WIRE

    def driven(self, content: Mapping[str, Any], *, java: bool) -> Driven:
        """See `chaoskit.contract.systems.benchmark.Benchmarked`."""
        return driven(content)

    def diagnose(self) -> list[Capability]:
        return java_and_jars("RocketMQ", _JAVA_MIN, "RocketMQ")


def _check_transactions(declared: Declared) -> None:
    transactions = declared.get(Transactions)
    if transactions is not None and transactions.messages != 1:
        raise BadInput(f"workload.messages: {transactions.messages}: a transaction has one message; set messages: 1")
