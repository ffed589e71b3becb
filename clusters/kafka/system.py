"""The Kafka plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.later import Later
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.benchmark import Driven
from chaoskit.contract.systems.wire import Wire
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, PUBSUB, QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.common.diagnosis import java_and_jars
from clusters.kafka import artifacts, checks, compaction, powers
from clusters.kafka.connection import CLASSPATH, CLIENT_ID
from clusters.kafka.guarantees.rules import GUARANTEES
from clusters.kafka.roles import ATTACHED_ROLES, ROLES
from clusters.kafka.settings import WIRE, KafkaOptions, broker_count

_FOR_RUNS = tuple(
    f"clusters.kafka.{name}"
    for name in ("deploy.attached", "clients.benchmark", "clients.clients", "deploy.cluster", "java.client")
)
if TYPE_CHECKING:
    from clusters.kafka.clients import benchmark
    from clusters.kafka.clients import clients as client
    from clusters.kafka.deploy import attached
    from clusters.kafka.deploy import cluster as deploy
    from clusters.kafka.java import client as java_client
else:
    attached, benchmark, client, deploy, java_client = (Later("kafka", path) for path in _FOR_RUNS)


class KafkaSystem:
    """Entry point `kafka` of `chaoskit.clusters`."""

    options = KafkaOptions
    tested = artifacts.TESTED
    roles = ROLES
    models = (LOG, PUBSUB, OUTPUT, QUEUE)
    queue_features = powers.QUEUE_FEATURES
    exchanges = ()
    guarantees = GUARANTEES
    for_runs = (*_FOR_RUNS, checks.REFUSALS)
    driver_class = "KafkaBenchmarkDriver"
    given: Mapping[type, str] = powers.GIVEN
    never: Mapping[type, str] = powers.NEVER
    notyet: Mapping[type, str] = powers.NOTYET

    def roles_with(self, options: KafkaOptions) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.system.Varied`."""
        return powers.roles(options)

    def service_powers(self, options: KafkaOptions) -> tuple[type, ...]:
        return powers.of_cluster(options)

    def client_powers(self, options: KafkaOptions) -> tuple[type, ...]:
        return powers.of_clients(options)

    def check(self, declared: Declared) -> None:
        checks.check(declared)

    def is_fetched(self, options: KafkaOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`."""
        return artifacts.newest_release()

    def prepare(self, options: KafkaOptions) -> None:
        checks.prepare(options)

    def prepare_tools(self, options: KafkaOptions) -> None:
        """See `chaoskit.contract.systems.operating.Tooled`."""
        if artifacts.has_tools(options.version):
            artifacts.fetch_tools(options.version)

    def deployment(self, options: KafkaOptions) -> KafkaOptions:
        return options.model_copy(update={"topic": {}, "share_group": {}, "clients": "librdkafka"})

    def deploy(self, hosts: Sequence[ServiceHost], options: KafkaOptions) -> deploy.KafkaCluster:
        return deploy.KafkaCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> client.KafkaClients | java_client.KafkaJavaClients:
        return java_client.KafkaJavaClients(settings) if CLASSPATH in settings else client.KafkaClients(settings)

    def named(self, connection: Mapping[str, Any], client: str) -> Mapping[str, Any]:
        """See `chaoskit.contract.systems.system.Naming`: a scenario may name them otherwise."""
        return {**connection, CLIENT_ID: client}

    def feeder(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `chaoskit.contract.systems.system.InputFeeding`."""
        return powers.of_feeder(given)

    def imposed(self, options: KafkaOptions, topic: Topic) -> Mapping[str, int]:
        """See `chaoskit.contract.systems.system.Imposing`."""
        return compaction.imposed(options, topic)

    def brokers(self, options: KafkaOptions, hosts: int) -> int:
        return broker_count(options, hosts)

    attached_roles = ATTACHED_ROLES

    def check_attach(self, settings: Mapping[str, Any], declared: Declared) -> None:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        checks.check_attached(settings, declared)

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
