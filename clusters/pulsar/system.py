"""The Pulsar plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import Problems
from chaoskit.base.later import Later
from chaoskit.contract.clients.client import (
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.benchmark import Driven
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped, Wire
from chaoskit.contract.workloads.datamodel import LOG, QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group, Queueing
from clusters.common.diagnosis import java_and_jars
from clusters.common.java import check_java
from clusters.pulsar import artifacts
from clusters.pulsar.clients import queues
from clusters.pulsar.clients.benchmark import DRIVER_CLASS, driven
from clusters.pulsar.clients.settings import CLASSPATH, TRANSACTIONS
from clusters.pulsar.guarantees.rules import GUARANTEES
from clusters.pulsar.known import check_names, check_topology
from clusters.pulsar.positions import describe
from clusters.pulsar.settings import ROLES, WIRE, PulsarOptions, check_settings
from clusters.storage.decommission import GIVEN_AUTO_RECOVERY, decommissioning
from clusters.storage.settings import check_bookies, quorums

_FOR_RUNS = tuple(
    f"clusters.pulsar.{name}"
    for name in (
        "clients.clients",
        "clients.consumer",
        "deploy.cluster",
        "java.client",
        "java.settings",
        "clients.producer",
        "clients.queue_settings",
    )
)
if TYPE_CHECKING:
    from clusters.pulsar.clients import clients as client
    from clusters.pulsar.clients import consumer, producer, queue_settings
    from clusters.pulsar.deploy import cluster as deploy
    from clusters.pulsar.java import client as java_client
    from clusters.pulsar.java import settings as java_settings
else:
    client, consumer, deploy, java_client, java_settings, producer, queue_settings = (
        Later("pulsar", path) for path in _FOR_RUNS
    )

_JAVA_MIN = 17


class PulsarSystem:
    """Entry point `pulsar` of `chaoskit.clusters`."""

    for_runs = _FOR_RUNS
    options = PulsarOptions
    roles = ROLES
    models = (LOG, QUEUE)
    types = queues.TYPES
    unreplicated = ()
    queue_features = queues.FEATURES
    exchanges = ()
    guarantees = GUARANTEES
    driver_class = DRIVER_CLASS
    given: Mapping[type, str] = {
        **GIVEN_AUTO_RECOVERY,
        SeekingClients: "clients: pulsar-client",
        TransactionalClients: "transactions: true, and cluster.clients: java",
    }
    never: Mapping[type, str] = {
        Reassignment: "topics have no replicas of their own; bookies store their ledgers",
        LedgerClients: "use `system: bookkeeper` to test ledgers",
    }
    notyet: Mapping[type, str] = {
        Upgrade: "rolling upgrades are not implemented",
        DataFiles: "topics cannot be mapped to files; use `files:` instead of `what:`",
    }

    def service_powers(self, options: PulsarOptions) -> tuple[type, ...]:
        return (Installation, Leadership, Tapped, *decommissioning(options))

    def client_powers(self, options: PulsarOptions) -> tuple[type, ...]:
        if options.clients == "java":
            return (LogClients, QueueClients, *((TransactionalClients,) if options.transactions else ()))
        return (LogClients, SeekingClients, SequencedClients, SubscribingClients, QueueClients)

    def check(self, declared: Declared) -> None:
        options: PulsarOptions = declared.options
        artifacts.parse_version(options.version)
        problems = Problems()
        problems.tried(quorums, options, len(options.place(declared.hosts).bookies))
        problems.tried(check_bookies, options, declared.disks)
        problems.tried(check_settings, options)
        problems.tried(check_topology, options, declared.hosts)
        problems.tried(check_java, _JAVA_MIN, f"Pulsar {options.version}")
        problems.tried(_check_clients, declared)
        problems.raise_any()

    def is_fetched(self, options: PulsarOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def prepare(self, options: PulsarOptions) -> None:
        check_names(options, artifacts.fetch(options.version))

    def deployment(self, options: PulsarOptions) -> PulsarOptions:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: PulsarOptions) -> deploy.PulsarCluster:
        return deploy.PulsarCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> client.PulsarClients | java_client.PulsarJavaClients:
        if CLASSPATH not in settings:
            return client.PulsarClients(settings)
        transactional = TRANSACTIONS in settings
        return (java_client.TransactionalJavaClients if transactional else java_client.PulsarJavaClients)(settings)

    def brokers(self, options: PulsarOptions, hosts: int) -> int:
        return len(options.place(hosts).bookies)

    def imposed(self, options: PulsarOptions, topic: Topic) -> Mapping[str, int]:
        """See `chaoskit.contract.systems.system.Imposing`."""
        return queues.imposed(options, topic)

    def describe_position(self, position: int) -> str:
        """See `chaoskit.contract.systems.system.Positions`."""
        return describe(position)

    def wire(self, options: PulsarOptions) -> Wire:
        """See `chaoskit.contract.systems.wire.Decoding`."""
        return WIRE

    def driven(self, content: Mapping[str, Any], *, java: bool) -> Driven:
        """See `chaoskit.contract.systems.benchmark.Benchmarked`."""
        return driven(content, java=java)

    def diagnose(self) -> list[Capability]:
        return java_and_jars("Pulsar", _JAVA_MIN, "Pulsar")


def _check_clients(declared: Declared) -> None:
    if declared.options.clients == "java":
        java_settings.check_java_clients(declared)
        return
    if declared.get(Queueing) is not None:
        queue_settings.check_queues(declared)
        return
    problems = Problems()
    problems.tried(producer.resolve_producer, declared.producer)
    problems.tried(
        consumer.reader_settings if declared.get(Group) is None else consumer.group_settings, declared.consumer
    )
    problems.raise_any()
