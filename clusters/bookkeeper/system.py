"""The BookKeeper plug-in: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import Problems
from chaoskit.base.later import Later
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.wire import Wire
from chaoskit.contract.workloads.datamodel import LEDGER
from clusters.bookkeeper import artifacts, powers
from clusters.bookkeeper.guarantees.rules import GUARANTEES
from clusters.bookkeeper.known import check_clients, check_names, check_topology
from clusters.bookkeeper.options import ROLES, WIRE, BookKeeperOptions
from clusters.common.diagnosis import java_and_jars
from clusters.common.java import check_java
from clusters.storage.settings import check_bookies, quorums

_FOR_RUNS = tuple(f"clusters.bookkeeper.{name}" for name in ("client", "deploy"))
if TYPE_CHECKING:
    from clusters.bookkeeper import client, deploy
else:
    client, deploy = (Later("bookkeeper", path) for path in _FOR_RUNS)

_JAVA_MIN = 17
"""BookKeeper 4.17 also runs on Java 8, but the JVM options used here open packages that Java 8 does not have."""


class BookKeeperSystem:
    """Entry point `bookkeeper` of `chaoskit.clusters`."""

    for_runs = _FOR_RUNS
    options = BookKeeperOptions
    tested = artifacts.TESTED
    roles = ROLES
    models = (LEDGER,)
    guarantees = GUARANTEES
    given: Mapping[type, str] = powers.GIVEN
    never: Mapping[type, str] = powers.NEVER
    notyet: Mapping[type, str] = powers.NOTYET

    def service_powers(self, options: BookKeeperOptions) -> tuple[type, ...]:
        return powers.of_cluster(options)

    def client_powers(self, options: BookKeeperOptions) -> tuple[type, ...]:
        return powers.of_clients(options)

    def check(self, declared: Declared) -> None:
        options: BookKeeperOptions = declared.options
        artifacts.parse_version(options.version)
        problems = Problems()
        problems.tried(quorums, options, len(options.place(declared.hosts).bookies))
        problems.tried(check_bookies, options, declared.disks)
        problems.tried(check_java, _JAVA_MIN, f"BookKeeper {options.version}")
        problems.tried(check_topology, options, declared.hosts)
        given = {"producer": declared.producer, "consumer": declared.consumer}
        problems.tried(check_clients, options, given, lambda: artifacts.fetch(options.version))
        problems.raise_any()

    def is_fetched(self, options: BookKeeperOptions) -> bool:
        """See `chaoskit.contract.systems.system.Fetching`."""
        return artifacts.is_fetched(options.version)

    def newest(self) -> str:
        """See `chaoskit.contract.systems.releasing.Releasing`."""
        return artifacts.newest_release()

    def prepare(self, options: BookKeeperOptions) -> None:
        check_names(options, artifacts.fetch(options.version))

    def deployment(self, options: BookKeeperOptions) -> BookKeeperOptions:
        return options.model_copy(update={"digest": BookKeeperOptions().digest})

    def deploy(self, hosts: Sequence[ServiceHost], options: BookKeeperOptions) -> deploy.BookKeeperCluster:
        return deploy.BookKeeperCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> client.BookKeeperClients:
        return client.BookKeeperClients(settings)

    def brokers(self, options: BookKeeperOptions, hosts: int) -> int:
        return len(options.place(hosts).bookies)

    def wire(self, options: BookKeeperOptions) -> Wire:
        """See `chaoskit.contract.systems.wire.Decoding`."""
        return WIRE

    def diagnose(self) -> list[Capability]:
        return java_and_jars("BookKeeper", _JAVA_MIN, "BookKeeper")
