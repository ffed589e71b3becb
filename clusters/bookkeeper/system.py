"""BookKeeper as chaoskit's engine sees it: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.capability import Finding
from chaoskit.contract.cluster import Allowance, Declared, Effect
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.ledger import LedgerClients
from clusters.bookkeeper import artifacts
from clusters.bookkeeper.decommission import decommissioning
from clusters.bookkeeper.deploy import BookKeeperCluster
from clusters.bookkeeper.guarantees import guarantees
from clusters.bookkeeper.roles import ROLES
from clusters.bookkeeper.settings import BookKeeperOptions, quorums
from clusters.diagnosis import java_and_jars
from clusters.java import check_java

_JAVA_MIN = 17
"""BookKeeper 4.17 runs on Java 8 too; ours opens packages that Java 8 does not have."""


class System:
    """Entry point `bookkeeper` of `chaoskit.clusters`."""

    options = BookKeeperOptions
    roles = ROLES

    def powers(self, options: BookKeeperOptions) -> tuple[type, ...]:
        return (LedgerClients, *decommissioning(options))

    def check(self, declared: Declared, hosts: int) -> None:
        options: BookKeeperOptions = declared.options
        artifacts.parse_version(options.version)
        quorums(options, len(options.place(hosts).bookies))
        if not declared.ledgers:
            raise BadInput("workload.kind: BookKeeper has ledgers, no topics; write kind: ledger")
        if importlib.util.find_spec("py4j") is None:
            raise BadInput("cluster.system: bookkeeper needs py4j: pip install 'chaoskit[bookkeeper]'")
        check_java(_JAVA_MIN, f"BookKeeper {options.version}")

    def prepare(self, options: Any) -> None:
        artifacts.fetch(options.version)

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> BookKeeperCluster:
        return BookKeeperCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> LedgerClients:
        from clusters.bookkeeper.client import BookKeeperClients  # noqa: PLC0415  # only workers need py4j

        return BookKeeperClients(settings)

    def guarantees(self, declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
        return guarantees(declared, effects)

    def brokers(self, options: Any, hosts: int) -> int:
        return len(options.place(hosts).bookies)

    def diagnose(self) -> list[Finding]:
        return java_and_jars("BookKeeper", _JAVA_MIN, "BookKeeper")
