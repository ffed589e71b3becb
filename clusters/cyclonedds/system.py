"""The Cyclone DDS plug-in: it has no processes of its own, and runs between its clients."""

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
from chaoskit.contract.systems.releasing import Tested
from chaoskit.contract.systems.system import CLIENT_POWERS, SERVICE_POWERS
from chaoskit.contract.workloads.datamodel import PUBSUB
from clusters.common.release import check_installed, installed
from clusters.common.unhosted import Unhosted
from clusters.cyclonedds.guarantees.rules import GUARANTEES
from clusters.cyclonedds.settings import (
    DISCOVERY,
    DOMAIN,
    LEASE_NS,
    PACKAGE,
    PEERS,
    CycloneOptions,
    check_offered,
    reader_settings,
    writer_settings,
)

_FOR_RUNS = ("clusters.cyclonedds.client",)
if TYPE_CHECKING:
    from clusters.cyclonedds import client
else:
    client = Later("cyclonedds", *_FOR_RUNS)

_FEEDS = "DDS stores no topics; use workload.kind: feed"
_NO_BROKER = "peers have no broker"


class CycloneSystem:
    """Entry point `cyclonedds` of `chaoskit.clusters`."""

    for_runs = _FOR_RUNS
    options = CycloneOptions
    tested = Tested("11.0.1", "11.0.1", date(2026, 11, 29))
    roles = ()
    models = (PUBSUB,)
    guarantees = GUARANTEES
    never: Mapping[type, str] = {
        **dict.fromkeys((power for power in CLIENT_POWERS if power is not FeedClients), _FEEDS),
        **dict.fromkeys(SERVICE_POWERS, _NO_BROKER),
    }

    def service_powers(self, options: CycloneOptions) -> tuple[type, ...]:
        return ()

    def client_powers(self, options: CycloneOptions) -> tuple[type, ...]:
        return (FeedClients,)

    def check(self, declared: Declared) -> None:
        problems = Problems()
        problems.tried(check_installed, PACKAGE, declared.options.version)
        writer = problems.tried(writer_settings, declared.producer)
        reader = problems.tried(reader_settings, declared.consumer)
        if writer and reader:
            problems.tried(check_offered, writer, reader)
        problems.raise_any()

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`: the package is the release."""
        return installed(PACKAGE)

    def prepare(self, options: CycloneOptions) -> None:
        """There is nothing to be fetched: the library is in the package cyclonedds."""

    def deployment(self, options: CycloneOptions) -> CycloneOptions:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: CycloneOptions) -> Unhosted:
        peers = [host.address for host in hosts]
        settings = {PEERS: peers, DOMAIN: options.domain, LEASE_NS: options.lease, DISCOVERY: options.discovery}
        return Unhosted("a DDS domain", settings)

    def clients(self, settings: Mapping[str, Any]) -> client.CycloneClients:
        return client.CycloneClients(settings)

    def brokers(self, options: CycloneOptions, hosts: int) -> int:
        return 0

    def diagnose(self) -> list[Capability]:
        return []
