"""The Pulsar plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.later import Later
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.benchmark import Driven
from chaoskit.contract.systems.wire import Wire
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.common.diagnosis import java_and_jars
from clusters.pulsar import artifacts, checks, compaction, powers
from clusters.pulsar.clients.benchmark import DRIVER_CLASS, driven
from clusters.pulsar.clients.settings import CLASSPATH, TRANSACTIONS
from clusters.pulsar.guarantees.rules import GUARANTEES
from clusters.pulsar.known import check_names
from clusters.pulsar.positions import describe
from clusters.pulsar.settings import ROLES, WIRE, PulsarOptions

_FOR_RUNS = tuple(f"clusters.pulsar.{name}" for name in ("clients.clients", "deploy.cluster", "java.client"))
if TYPE_CHECKING:
    from clusters.pulsar.clients import clients as client
    from clusters.pulsar.deploy import cluster as deploy
    from clusters.pulsar.java import client as java_client
else:
    client, deploy, java_client = (Later("pulsar", path) for path in _FOR_RUNS)


class PulsarSystem:
    """Entry point `pulsar` of `chaoskit.clusters`."""

    for_runs = (*_FOR_RUNS, *checks.FOR_RUNS)
    options = PulsarOptions
    tested = artifacts.TESTED
    roles = ROLES
    models = (LOG, QUEUE, OUTPUT)
    types = powers.QUEUE_TYPES
    unreplicated = ()
    queue_features = powers.QUEUE_FEATURES
    exchanges = ()
    guarantees = GUARANTEES
    driver_class = DRIVER_CLASS
    given: Mapping[type, str] = powers.GIVEN
    never: Mapping[type, str] = powers.NEVER
    notyet: Mapping[type, str] = powers.NOTYET

    def service_powers(self, options: PulsarOptions) -> tuple[type, ...]:
        return powers.of_cluster(options)

    def client_powers(self, options: PulsarOptions) -> tuple[type, ...]:
        return powers.of_clients(options)

    def check(self, declared: Declared) -> None:
        checks.check(declared)

    def is_fetched(self, options: PulsarOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`."""
        return artifacts.newest_release()

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
        return compaction.imposed(options, topic)

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
        return java_and_jars("Pulsar", checks.JAVA_MIN, "Pulsar")
