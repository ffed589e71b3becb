"""The RabbitMQ plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.later import Later
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.contract.systems.wire import Wire
from chaoskit.contract.workloads.topic import Topic
from clusters.common.diagnosis import debian_roots
from clusters.hosts import roots
from clusters.rabbitmq import checks, powers, releases
from clusters.rabbitmq.guarantees import limits
from clusters.rabbitmq.guarantees.rules import GUARANTEES
from clusters.rabbitmq.queues import CLASSIC, TYPES
from clusters.rabbitmq.routing import EXCHANGES
from clusters.rabbitmq.settings import ATTACHED_ROLES, ROLES, WIRE, RabbitOptions

_FOR_RUNS = tuple(f"clusters.rabbitmq.{name}" for name in ("deploy.attached", "clients.clients", "deploy.cluster"))
if TYPE_CHECKING:
    from clusters.rabbitmq.clients import clients as client
    from clusters.rabbitmq.deploy import attached
    from clusters.rabbitmq.deploy import cluster as deploy
else:
    attached, client, deploy = (Later("rabbitmq", path) for path in _FOR_RUNS)


class RabbitSystem:
    """Entry point `rabbitmq` of `chaoskit.clusters`."""

    for_runs = (*_FOR_RUNS, *checks.FOR_RUNS)
    options = RabbitOptions
    tested = releases.TESTED
    roles = ROLES
    models = tuple(TYPES)
    types = TYPES
    unreplicated = (CLASSIC,)
    queue_features = tuple(QueueFeature)
    exchanges = EXCHANGES
    guarantees = GUARANTEES
    given: Mapping[type, str] = powers.GIVEN
    never: Mapping[type, str] = powers.NEVER
    notyet: Mapping[type, str] = powers.NOTYET

    def service_powers(self, options: RabbitOptions) -> tuple[type, ...]:
        return powers.of_cluster(options)

    def client_powers(self, options: RabbitOptions) -> tuple[type, ...]:
        return powers.of_clients(options)

    def check(self, declared: Declared) -> None:
        checks.check(declared)

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`."""
        return releases.newest_release()

    def prepare(self, options: RabbitOptions) -> None:
        """Do nothing: the packages are in the root of the hosts."""

    def root(self, options: RabbitOptions) -> Root:
        """See `chaoskit.contract.systems.system.Rooted`."""
        return releases.root_of(options.version)

    def deployment(self, options: RabbitOptions) -> RabbitOptions:
        return options.model_copy(update={"clients": "default"})

    def deploy(self, hosts: Sequence[ServiceHost], options: RabbitOptions) -> deploy.RabbitCluster:
        return deploy.RabbitCluster(hosts, options, roots.packages(releases.root_of(options.version)))

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
        checks.check_attached(settings, declared)

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
