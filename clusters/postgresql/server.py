"""A PostgreSQL server on a host: configure, start, look after, and make databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import ServiceError
from clusters.common.supervision import Supervisor
from clusters.postgresql import probe
from clusters.postgresql.settings import (
    ACCESS,
    ACCESS_RULES,
    BACKENDS,
    CONF,
    PORT,
    PROGRAMS,
    USER,
    data_folder,
    postgresql_conf,
)

SERVICE = "postgresql"
_POLL_S = 0.05
_INIT_S = 60

_INIT = """
test -s "$1/PG_VERSION" && exit
mkdir -m 700 "$1" && "$2/initdb" --pgdata="$1" --username="$3" --auth=trust --encoding=UTF8 --locale=C.UTF-8
"""
_END_OTHERS = "pkill -KILL -x postgres; while pgrep -x postgres > /dev/null; do sleep 0.01; done"
"""No server starts as long as a backend of an earlier one lives. A host sees its own processes only."""

_FOLLOWER = Path(__file__).with_name("backends.py")

_DECIDING = ("server_version", "synchronous_commit", "fsync", "full_page_writes", "wal_sync_method", "wal_writer_delay")
"""Settings that decide what a power cut takes."""


class PostgresServer:
    """See `chaoskit.contract.systems.database.DatabaseServer`. It has the powers `Installation` and `Supervision`.

    Args:
        host: its host.
        settings: as in the scenario.
    """

    def __init__(self, host: ServiceHost, settings: Mapping[str, Any]) -> None:
        self.hosts = [host]
        self._host = host
        self._settings = settings
        self._supervisor = Supervisor(lambda silent, _: self.start(silent), ())
        host.put(postgresql_conf(settings, host.address, host.data_dir).encode(), CONF)
        host.put(ACCESS_RULES.encode(), ACCESS)
        host.put(_FOLLOWER.read_bytes(), BACKENDS)
        if host.run(["test", "-x", f"{PROGRAMS}/postgres"], check=False).status != 0:
            raise ServiceError(f"host {host.name} has no {PROGRAMS}/postgres")

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "the database")

    def start(self, host: ServiceHost) -> None:
        """See `chaoskit.contract.systems.installation.Installation`."""
        if host.state(SERVICE) is not ServiceState.GONE:
            return
        host.run(["sh", "-c", _END_OTHERS])
        data = data_folder(host.data_dir)
        host.run(host.as_service(["sh", "-c", _INIT, "init", data, PROGRAMS, USER]), timeout_s=_INIT_S)
        server = [f"{PROGRAMS}/postgres", "-D", data, "-c", f"config_file={CONF}"]
        if not self._supervisor.served:
            _check_settings(host, server)
        host.spawn(SERVICE, server, {})
        pid = host.run(["cat", host.pid_path(SERVICE)]).out.strip()
        host.spawn(f"{SERVICE}-backends", ["python3", BACKENDS, pid], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.installation.Installation`."""
        return (SERVICE,)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """See `chaoskit.contract.systems.installation.Installation`."""
        return probe.answers(host.address, timeout_s)

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.systems.installation.Supervision`."""
        return self._supervisor.revivals

    def wait_ready(self, timeout_s: float) -> None:
        """See `chaoskit.contract.systems.database.DatabaseServer`."""
        self._supervisor.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"PostgreSQL was not ready within {timeout_s:g} s: {missing}")
        self._supervisor.served = True

    def make(self, name: str, tables: str) -> str:
        """See `chaoskit.contract.systems.database.DatabaseServer`."""
        self._ask("postgres", f"CREATE DATABASE {name}")
        if tables.strip():
            self._ask(name, tables)
        self._ask(name, "CHECKPOINT")
        return f"postgresql://{USER}@{self._host.address}:{PORT}/{name}"

    def settings_in_effect(self) -> Mapping[str, Any]:
        """See `chaoskit.contract.systems.database.DatabaseServer`."""
        return {name: self._ask("postgres", f"SHOW {name}") for name in dict.fromkeys((*_DECIDING, *self._settings))}

    def _ask(self, database: str, statement: str) -> str:
        """Execute statements, and return what they print.

        Raises:
            ServiceError: the server refuses one.
        """
        psql = [f"{PROGRAMS}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "/tmp", "-U", USER, "-d", database]  # noqa: S108
        done = self._host.run(self._host.as_service([*psql, "-c", statement]), check=False)
        if done.status != 0:
            raise ServiceError(f"PostgreSQL refuses {statement.strip()!r}: {done.err.strip()}")
        return done.out.strip()

    def _missing(self) -> str:
        if probe.answers(self._host.address, 0.5):
            return ""
        self._supervisor.look_after([(self._host, SERVICE)])
        return f"no answer from {self._host.name}"


def _check_settings(host: ServiceHost, server: Sequence[str]) -> None:
    """Have the server read its settings without starting.

    Raises:
        ServiceError: it refuses one.
    """
    done = host.run(host.as_service([*server, "-C", "port"]), check=False)
    if done.status != 0:
        said = [line.partition("GMT")[2].strip() or line for line in done.err.strip().splitlines()]
        raise ServiceError(f"PostgreSQL refuses its settings, key postgresql of workload.writes: {'; '.join(said)}")
