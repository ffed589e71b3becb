"""The RabbitMQ plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.later import Later
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
from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.service import DataFiles
from chaoskit.contract.systems.wire import Tapped, Wire
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group
from clusters.common.diagnosis import debian_roots
from clusters.hosts import roots
from clusters.rabbitmq.guarantees import limits
from clusters.rabbitmq.guarantees.rules import GUARANTEES
from clusters.rabbitmq.queues import CLASSIC, TYPES, check_types
from clusters.rabbitmq.releases import has_groups_of_streams, metadata_of, parse_version, root_of
from clusters.rabbitmq.routing import EXCHANGES
from clusters.rabbitmq.settings import ATTACHED_ROLES, ROLES, WIRE, RabbitOptions

_FOR_RUNS = tuple(
    f"clusters.rabbitmq.{name}"
    for name in ("deploy.attached", "clients.clients", "connection", "deploy.cluster", "streams.link")
)
if TYPE_CHECKING:
    from clusters.rabbitmq import connection
    from clusters.rabbitmq.clients import clients as client
    from clusters.rabbitmq.deploy import attached
    from clusters.rabbitmq.deploy import cluster as deploy
    from clusters.rabbitmq.streams import link
else:
    attached, client, connection, deploy, link = (Later("rabbitmq", path) for path in _FOR_RUNS)

_QUEUES = "RabbitMQ has queues and streams; use workload.kind: queue, or log"


class RabbitSystem:
    """Entry point `rabbitmq` of `chaoskit.clusters`."""

    for_runs = _FOR_RUNS
    options = RabbitOptions
    roles = ROLES
    models = tuple(TYPES)
    types = TYPES
    unreplicated = (CLASSIC,)
    queue_features = tuple(QueueFeature)
    exchanges = EXCHANGES
    guarantees = GUARANTEES
    given: Mapping[type, str] = dict.fromkeys((QueueClients, SequencedClients), "clients: default")
    never: Mapping[type, str] = {
        LedgerClients: _QUEUES,
        SubscribingClients: _QUEUES,
        TransactionalClients: "AMQP transactions cover one queue only and are slower than confirms",
        Upgrade: "4.3 can be reached from 4.2 only, and 4.0 from 3.13 (their release notes); Debian has neither",
    }
    notyet: Mapping[type, str] = {
        SeekingClients: "consumers of streams that move while they read are not implemented",
        DataFiles: "queues cannot be mapped to files; use `files:` instead of `what:`",
    }

    def service_powers(self, options: RabbitOptions) -> tuple[type, ...]:
        return (Installation, Leadership, Reassignment, Decommissioning, Tapped)

    def client_powers(self, options: RabbitOptions) -> tuple[type, ...]:
        if options.clients == "rstream":
            return (LogClients,)
        return (QueueClients, LogClients, SequencedClients)

    def check(self, declared: Declared) -> None:
        parse_version(declared.options.version)
        problems = Problems()
        problems.tried(metadata_of, declared.options.version, declared.options.metadata)
        is_log = any(topic.model is LOG for topic in declared.topics)
        check = link.check_settings if is_log else connection.check_settings
        problems.tried(check, "producer", declared.producer)
        problems.tried(check, "consumer", declared.consumer)
        if is_log and declared.get(Group) is not None and not has_groups_of_streams(declared.options.version):
            problems.add(
                BadInput("workload.consumption: RabbitMQ 3.10 has no groups of streams; set cluster.version: 4.0.5")
            )
        problems.tried(check_types, declared)
        problems.tried(limits.check_policy, declared.options.policy, declared.options.config)
        if declared.replication > declared.brokers:
            problems.add(
                BadInput(
                    f"workload.replication: {declared.replication} members require as many nodes; there are "
                    f"{declared.brokers}"
                )
            )
        problems.raise_any()

    def prepare(self, options: RabbitOptions) -> None:
        """Do nothing: the packages are in the root of the hosts."""

    def root(self, options: RabbitOptions) -> Root:
        """See `chaoskit.contract.systems.system.Rooted`."""
        return root_of(options.version)

    def deployment(self, options: RabbitOptions) -> RabbitOptions:
        return options.model_copy(update={"clients": "default"})

    def deploy(self, hosts: Sequence[ServiceHost], options: RabbitOptions) -> deploy.RabbitCluster:
        return deploy.RabbitCluster(hosts, options, roots.packages(root_of(options.version)))

    def clients(self, settings: Mapping[str, Any]) -> client.RabbitClients:
        return client.RabbitClients(settings)

    def brokers(self, options: RabbitOptions, hosts: int) -> int:
        return hosts

    def imposed(self, options: RabbitOptions, topic: Topic) -> Mapping[str, int]:
        """See `chaoskit.contract.systems.system.Imposing`."""
        return limits.imposed(options, topic)

    attached_roles = ATTACHED_ROLES

    def check_attach(self, settings: Mapping[str, Any], declared: Declared) -> None:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        problems = Problems()
        problems.tried(attached.check, settings, declared)
        problems.tried(self.check, declared)
        problems.raise_any()

    def observe(self, settings: Mapping[str, Any], nodes: int, options: RabbitOptions) -> RabbitOptions:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        return attached.observe(settings, nodes, options)

    def attach(
        self, settings: Mapping[str, Any], options: RabbitOptions, hosts: Sequence[ServiceHost]
    ) -> attached.AttachedRabbit:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        return attached.AttachedRabbit(settings, hosts)

    def remove(self, settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """See `chaoskit.contract.systems.attach.Attaching`."""
        return attached.remove(settings, names)

    def wire(self, options: RabbitOptions) -> Wire:
        """See `chaoskit.contract.systems.wire.Decoding`."""
        return WIRE

    def diagnose(self) -> list[Capability]:
        return [debian_roots("RabbitMQ")]
