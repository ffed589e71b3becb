"""The Kafka plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.later import Later
from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import (
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.benchmark import Driven
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Migration, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped, Wire
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, PUBSUB
from clusters.common.diagnosis import java_and_jars
from clusters.common.directories import check_directories
from clusters.common.java import check_java
from clusters.kafka import artifacts
from clusters.kafka.connection import BOOTSTRAP, CLASSPATH, CLIENT_ID
from clusters.kafka.guarantees.retention import compacts
from clusters.kafka.guarantees.rules import GUARANTEES
from clusters.kafka.java.settings import check_java_clients
from clusters.kafka.known import check_names, check_topology
from clusters.kafka.metadata import can_migrate, check_metadata
from clusters.kafka.roles import ATTACHED_ROLES, OF_ZOOKEEPER, ROLES
from clusters.kafka.security import check_security
from clusters.kafka.settings import FEATURES_SINCE, WIRE, KafkaOptions, broker_count, min_insync

_FOR_RUNS = tuple(
    f"clusters.kafka.{name}"
    for name in (
        "deploy.attached",
        "clients.benchmark",
        "clients.clients",
        "deploy.cluster",
        "java.client",
        "clients.refusals",
    )
)
if TYPE_CHECKING:
    from clusters.kafka.clients import benchmark, refusals
    from clusters.kafka.clients import clients as client
    from clusters.kafka.deploy import attached
    from clusters.kafka.deploy import cluster as deploy
    from clusters.kafka.java import client as java_client
else:
    attached, benchmark, client, deploy, java_client, refusals = (Later("kafka", path) for path in _FOR_RUNS)

_JAVA_MIN = {True: 17, False: 8}
"""Kafka 4 brokers need Java 17; earlier ones Java 8."""

_JAVA_CLIENTS_SINCE = (3, 0)
"""Before 2.5 consumers do not tell the generation of their group; releases in between were not tried."""


class KafkaSystem:
    """Entry point `kafka` of `chaoskit.clusters`."""

    options = KafkaOptions
    roles = ROLES
    models = (LOG, PUBSUB, OUTPUT)
    guarantees = GUARANTEES
    for_runs = _FOR_RUNS
    driver_class = "KafkaBenchmarkDriver"
    given: Mapping[type, str] = {
        **dict.fromkeys((Leadership, Reassignment), "version: 4.0.0 or later"),
        Upgrade: "metadata: kraft",
        SeekingClients: "clients: librdkafka",
        Migration: "zookeeper.hosts: 1",
    }
    never: Mapping[type, str] = {
        SequencedClients: "applications cannot set sequence ids; a new producer starts a new sequence",
        LedgerClients: "Kafka has partitions, not ledgers",
    }
    notyet: Mapping[type, str] = {
        SubscribingClients: "share groups (KIP-932) are not implemented",
        QueueClients: "share groups (KIP-932) are not implemented",
        Decommissioning: "use `reassign` or `remove-broker` to drain a broker",
    }

    def roles_with(self, options: KafkaOptions) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.system.Varied`."""
        return ROLES if options.in_zookeeper else tuple(role for role in ROLES if role not in OF_ZOOKEEPER)

    def service_powers(self, options: KafkaOptions) -> tuple[type, ...]:
        by_tools = (Leadership, Reassignment) if artifacts.has_tools(options.version) else ()
        upgrade = () if options.in_zookeeper else (Upgrade,)
        migration = (Migration,) if can_migrate(options) else ()
        tapped = () if options.security else (Tapped,)
        return (Installation, DataFiles, *upgrade, *migration, *by_tools, *tapped)

    def client_powers(self, options: KafkaOptions) -> tuple[type, ...]:
        if options.clients == "java":
            return (LogClients, TransactionalClients)
        return (LogClients, SeekingClients, TransactionalClients, FeedClients, ApplicationClients)

    def check(self, declared: Declared) -> None:
        options: KafkaOptions = declared.options
        version = artifacts.parse_version(options.version)
        problems = Problems()
        problems.tried(artifacts.check_version, options.version, options.metadata)
        problems.tried(check_metadata, options, declared.hosts)
        problems.tried(_check_sizes, declared)
        problems.tried(check_directories, options.log_dirs, declared.disks, "cluster.log_dirs")
        problems.tried(_check_topic, options, version)
        problems.tried(check_security, options.security, version)
        problems.tried(check_topology, options, declared.hosts)
        problems.tried(check_java, _JAVA_MIN[version >= (4,)], f"Kafka {options.version}")
        problems.tried(_check_clients, declared)
        problems.raise_any()

    def is_fetched(self, options: KafkaOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def prepare(self, options: KafkaOptions) -> None:
        artifacts.check_version(options.version, options.metadata)
        check_names(options, artifacts.fetch(options.version))

    def deployment(self, options: KafkaOptions) -> KafkaOptions:
        return options.model_copy(update={"topic": {}, "clients": "librdkafka"})

    def deploy(self, hosts: Sequence[ServiceHost], options: KafkaOptions) -> deploy.KafkaCluster:
        return deploy.KafkaCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> client.KafkaClients | java_client.KafkaJavaClients:
        return java_client.KafkaJavaClients(settings) if CLASSPATH in settings else client.KafkaClients(settings)

    def named(self, connection: Mapping[str, Any], client: str) -> Mapping[str, Any]:
        """See `chaoskit.contract.systems.system.Naming`: a scenario may name them otherwise."""
        return {**connection, CLIENT_ID: client}

    def brokers(self, options: KafkaOptions, hosts: int) -> int:
        return broker_count(options, hosts)

    attached_roles = ATTACHED_ROLES

    def check_attach(self, settings: Mapping[str, Any], declared: Declared) -> None:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        problems = Problems()
        problems.tried(attached.check, settings)
        problems.tried(_check_plain, settings, declared.options)
        problems.tried(_check_attached, declared.options)
        problems.tried(_check_sizes, declared)
        problems.tried(_check_clients, declared)
        problems.raise_any()

    def observe(self, settings: Mapping[str, Any], nodes: int, options: KafkaOptions) -> KafkaOptions:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        return attached.observe(settings, nodes, options)

    def attach(
        self, settings: Mapping[str, Any], options: KafkaOptions, hosts: Sequence[ServiceHost]
    ) -> attached.AttachedKafka:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        return attached.AttachedKafka(settings, options, hosts)

    def remove(self, settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        return attached.remove(settings, names)

    def wire(self, options: KafkaOptions) -> Wire:
        """See `chaoskit.contract.systems.wire.Decoding`."""
        return WIRE

    def driven(self, content: Mapping[str, Any], *, java: bool) -> Driven:
        """See `chaoskit.contract.systems.benchmark.Benchmarked`."""
        return benchmark.driven(content, java=java)

    def diagnose(self) -> list[Capability]:
        return java_and_jars("Kafka", 17, "Kafka 4")


def _check_attached(options: KafkaOptions) -> None:
    if options.in_zookeeper:
        raise BadInput("cluster.metadata: zookeeper: not with cluster.attach yet; remove one of them")
    artifacts.check_version(options.version, options.metadata)


def _check_plain(settings: Mapping[str, Any], options: KafkaOptions) -> None:
    if options.clients == "java" and (further := sorted(settings.keys() - {BOOTSTRAP})):
        raise BadInput(f"cluster.clients: java: cluster.attach.{further[0]} is not supported with it yet")


def _check_clients(declared: Declared) -> None:
    if declared.options.clients == "java":
        if artifacts.parse_version(declared.options.version) < _JAVA_CLIENTS_SINCE:
            raise BadInput(
                f"cluster.clients: java needs Kafka 3.0.0 or later, not {declared.options.version}; remove it"
            )
        check_java_clients(declared)
    else:
        refusals.check_clients(declared)


def _check_sizes(declared: Declared) -> None:
    controllers, hosts = declared.options.controllers, declared.hosts
    if controllers != "combined" and not 1 <= controllers < hosts:
        raise BadInput(f"cluster.controllers: {controllers} of {hosts} hosts leaves no broker; reduce it")
    if declared.replication > declared.brokers:
        raise BadInput(
            f"workload.replication: {declared.replication} replicas require as many brokers; there are "
            f"{declared.brokers}"
        )
    if declared.topics and (least := min_insync(declared.options)) > declared.replication > 0:
        raise BadInput(
            f"min.insync.replicas: {least} of {declared.replication} replicas (workload.replication) can never be in "
            f"sync, and Kafka counts it as {declared.replication} or takes no message; write {declared.replication} or "
            "less"
        )


def _check_topic(options: KafkaOptions, version: tuple[int, ...]) -> None:
    if options.features and version < FEATURES_SINCE:
        raise BadInput(f"cluster.features: Kafka {options.version} has none; use 3.9 or later, or remove the key")
    if compacts(options):
        raise BadInput(
            "cluster.topic.cleanup.policy: compacted topics cannot be judged yet: compaction deletes messages "
            "that have a newer one with their key; use cleanup.policy: delete"
        )
