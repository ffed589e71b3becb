"""The Zenoh plug-in: peers that have no processes besides clients, or routers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import Problems
from chaoskit.base.later import Later
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Reassignment, Upgrade
from chaoskit.contract.systems.releasing import Tested
from chaoskit.contract.systems.service import DataFiles, Service
from chaoskit.contract.systems.system import CLIENT_POWERS
from chaoskit.contract.workloads.datamodel import PUBSUB
from clusters.common.release import check_installed, installed
from clusters.common.unhosted import Unhosted
from clusters.zenoh.guarantees.rules import GUARANTEES
from clusters.zenoh.settings import PACKAGE, ROLES, ZenohOptions, publisher_settings, subscriber_settings

_FOR_RUNS = tuple(f"clusters.zenoh.{name}" for name in ("client", "configuration", "package", "routers"))
if TYPE_CHECKING:
    from clusters.zenoh import client, configuration, package, routers
else:
    client, configuration, package, routers = (Later("zenoh", path) for path in _FOR_RUNS)

_FEEDS = "Zenoh stores no topics; use workload.kind: feed"
_NO_COPIES = "routers store nothing, and none leads"


class ZenohSystem:
    """Entry point `zenoh` of `chaoskit.clusters`."""

    for_runs = _FOR_RUNS
    options = ZenohOptions
    tested = Tested("1.10.2", "1.10.2", date(2026, 11, 29))
    roles = ROLES
    models = (PUBSUB,)
    guarantees = GUARANTEES
    given: Mapping[type, str] = {Installation: "cluster.mode: router"}
    never: Mapping[type, str] = {
        **dict.fromkeys((power for power in CLIENT_POWERS if power is not FeedClients), _FEEDS),
        **dict.fromkeys((Leadership, Reassignment, Decommissioning, DataFiles), _NO_COPIES),
    }
    notyet: Mapping[type, str] = {Upgrade: "there is the release of the installed package only"}

    def service_powers(self, options: ZenohOptions) -> tuple[type, ...]:
        return (Installation,) if options.mode == "router" else ()

    def client_powers(self, options: ZenohOptions) -> tuple[type, ...]:
        return (FeedClients,)

    def check(self, declared: Declared) -> None:
        problems = Problems()
        problems.tried(check_installed, PACKAGE, declared.options.version)
        problems.tried(configuration.built, {}, declared.options.config)
        problems.tried(publisher_settings, declared.producer)
        problems.tried(subscriber_settings, declared.consumer)
        problems.raise_any()

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`: the package is the release."""
        return installed(PACKAGE)

    def prepare(self, options: ZenohOptions) -> None:
        if options.mode == "router":
            package.provide(options.version)

    def deployment(self, options: ZenohOptions) -> ZenohOptions:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: ZenohOptions) -> Service:
        if options.mode == "router":
            return routers.Routers(hosts, options)
        return Unhosted(
            "a network of peers", configuration.connection_of(options, [host.address for host in hosts], [])
        )

    def clients(self, settings: Mapping[str, Any]) -> client.ZenohClients:
        return client.ZenohClients(settings)

    def brokers(self, options: ZenohOptions, hosts: int) -> int:
        return hosts if options.mode == "router" else 0

    def diagnose(self) -> list[Capability]:
        return []
