"""The PostgreSQL plug-in: check, root, deploy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Root, ServiceHost
from clusters.common.diagnosis import debian_roots, packages
from clusters.postgresql.server import PostgresServer
from clusters.postgresql.settings import OWN, RELEASE


class PostgreSQL:
    """Entry point `postgresql` of `chaoskit.databases`."""

    def check(self, settings: Mapping[str, Any], key: str) -> None:
        """See `chaoskit.contract.systems.database.Database`."""
        for name in settings:
            if name.lower() in OWN:
                raise BadInput(f"{key}.{name}: chaoskit sets it itself; remove it")

    def root(self) -> Root:
        """See `chaoskit.contract.systems.database.Database`: Debian keeps one minor release of each major one, so the
        minor one is not chosen; the settings in effect tell it."""
        return Root("trixie", {f"postgresql-{RELEASE}": ""})

    def diagnose(self) -> list[Capability]:
        """See `chaoskit.contract.systems.database.Database`: what reads its rows, and what makes its host."""
        return [packages("rows of databases", "sql", ("sqlalchemy", "psycopg")), debian_roots("PostgreSQL")]

    def deploy(self, host: ServiceHost, settings: Mapping[str, Any]) -> PostgresServer:
        """See `chaoskit.contract.systems.database.Database`."""
        return PostgresServer(host, settings)
