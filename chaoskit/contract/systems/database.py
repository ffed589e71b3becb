"""A database that runs beside the system, on a host of its own: what an application under test writes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.contract.power import Powered


class DatabaseServer(Powered, Protocol):
    """A database on its host. It has the power `Installation`, so faults hit it as they hit the system."""

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until it answers.

        Raises:
            ServiceError: it does not in time; the message has the last errors in its log.
        """
        ...

    def make(self, name: str, tables: str) -> str:
        """Make an empty database with some tables, and have everything on its disk; return its URL.

        Args:
            name: its name.
            tables: statements.

        Raises:
            ServiceError: it refuses a statement.
        """
        ...

    def settings_in_effect(self) -> Mapping[str, Any]:
        """Return the settings that decide what it loses, and those that the scenario sets, as it reports them."""
        ...


class Database(Protocol):
    """A kind of database (entry point group `chaoskit.databases`)."""

    def check(self, settings: Mapping[str, Any], key: str) -> None:
        """Reject settings that chaoskit sets itself, and packages that are missing here.

        Raises:
            BadInput: names the key and the remedy.
        """
        ...

    def root(self) -> Root:
        """Return what the root file system of its host must hold."""
        ...

    def diagnose(self) -> list[Capability]:
        """Return a finding for each requirement; see `chaoskit doctor`."""
        ...

    def deploy(self, host: ServiceHost, settings: Mapping[str, Any]) -> DatabaseServer:
        """Install and configure it on a host, without starting it."""
        ...
