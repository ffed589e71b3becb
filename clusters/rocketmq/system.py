"""The RocketMQ plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.benchmark import Driven
from chaoskit.contract.systems.wire import Wire
from chaoskit.contract.workloads.datamodel import LOG, QUEUE, DataModel
from clusters.common.diagnosis import java_and_jars
from clusters.rocketmq import artifacts, checks, powers
from clusters.rocketmq.clients.benchmark import DRIVER_CLASS, driven
from clusters.rocketmq.clients.clients import RocketClients
from clusters.rocketmq.clients.queues import TYPES
from clusters.rocketmq.connection import CLASSPATH
from clusters.rocketmq.deploy.cluster import RocketCluster
from clusters.rocketmq.guarantees.rules import GUARANTEES
from clusters.rocketmq.known import check_names
from clusters.rocketmq.python.client import PythonClients
from clusters.rocketmq.roles import CONTROLLER_LEADER, ROLES
from clusters.rocketmq.settings import WIRE, RocketOptions


class RocketSystem:
    """Entry point `rocketmq` of `chaoskit.clusters`."""

    options = RocketOptions
    tested = artifacts.TESTED
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
    given: Mapping[type, str] = powers.GIVEN
    never: Mapping[type, str] = powers.NEVER
    notyet: Mapping[type, str] = powers.NOTYET

    def roles_with(self, options: RocketOptions) -> Collection[str]:
        """See `chaoskit.contract.systems.system.Varied`."""
        return [role for role in ROLES if role != CONTROLLER_LEADER or options.elects]

    def service_powers(self, options: RocketOptions) -> tuple[type, ...]:
        return powers.of_cluster(options)

    def client_powers(self, options: RocketOptions) -> tuple[type, ...]:
        return powers.of_clients(options)

    def check(self, declared: Declared) -> None:
        checks.check(declared)

    def is_fetched(self, options: RocketOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`."""
        return artifacts.newest_release()

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
        return java_and_jars("RocketMQ", checks.JAVA_MIN, "RocketMQ")
