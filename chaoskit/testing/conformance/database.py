"""Conformance suite for databases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.contract.installed import database as installed
from chaoskit.contract.systems.database import Database, DatabaseServer
from chaoskit.contract.systems.installation import Installation
from chaoskit.testing.conformance.wants import Wants

_READY_S = 120.0
_NAME = "checked"


def check_database(
    database: str | Database,
    host: ServiceHost | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Check a database.

    Args:
        database: the database, or the name of its entry point.
        host: a clean host with what its root holds. If given, it is deployed there, started, killed, and started
            again; it is ended then.
        settings: its settings for that.

    Raises:
        AssertionError: lists what is missing.
    """
    instance = installed(database, "database") if isinstance(database, str) else database
    with Wants(f"database {database if isinstance(database, str) else type(database).__name__}") as wants:
        if not wants.attributes(instance, "check", "root", "deploy", "diagnose"):
            return
        wants.that((type(instance).__doc__ or "").strip(), "it has no docstring")
        with wants.step("`check` of no settings"):
            instance.check({}, "settings")
        with wants.step("root"):
            wants.that(isinstance(instance.root(), Root), "`root` returns no Root")
            wants.that(instance.root() == instance.root(), "`root` returns another one each time")
        with wants.step("diagnose"):
            for capability in instance.diagnose():
                wants.that(isinstance(capability, Capability), f"`diagnose` returns {capability!r}")
        if host is not None:
            with wants.step("a deployment"):
                _check_server(instance.deploy(host, settings or {}), host, settings or {}, wants)


def _check_server(server: DatabaseServer, host: ServiceHost, settings: Mapping[str, Any], wants: Wants) -> None:
    installation = server.power(Installation)
    installation.start(host)
    server.wait_ready(_READY_S)
    wants.that(installation.answers(host), "it is ready, and does not answer")
    url = server.make(_NAME, "")
    wants.that(url.endswith(f"/{_NAME}"), f"`make` returns {url!r}, which does not end with the name of the database")
    missing = settings.keys() - server.settings_in_effect().keys()
    wants.that(not missing, f"`settings_in_effect` does not have {', '.join(sorted(missing))}")
    _end(installation, host)
    wants.that(not installation.answers(host), "it answers although its services were killed")
    installation.start(host)
    server.wait_ready(_READY_S)
    _end(installation, host)


def _end(installation: Installation, host: ServiceHost) -> None:
    for service in installation.services(host):
        host.signal(service, "KILL")
