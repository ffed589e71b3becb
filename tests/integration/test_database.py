"""PostgreSQL on a host of a lab: what it committed outlives a power cut as its settings say, and faults reach it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from chaoskit.base.journal import Journal
from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost, ServiceState
from chaoskit.contract.systems.service import ServiceError
from chaoskit.testing.conformance import check_database
from clusters.hosts.lab import LocalOptions, LocalProvider
from clusters.postgresql import PostgreSQL
from clusters.postgresql.server import SERVICE, PostgresServer

_READY_S = 60.0
_TABLE = "create table paid (id int); create table other (id int)"
_CLIENT = {"autocommit": True, "connect_timeout": 3, "keepalives_idle": 1}


@pytest.fixture(scope="module")
def host(shared_journal: Journal) -> Iterator[ServiceHost]:
    """A host with PostgreSQL's packages."""
    provider, root = LocalProvider(), PostgreSQL().root()
    provider.make_root(root)
    lab = provider.provision(shared_journal, 1, LocalOptions(), roots=[root])
    yield lab.hosts[0]
    lab.close()


class Payer:
    """Inserts numbers, each once the one before is committed.

    Attributes:
        committed: how many were.
    """

    def __init__(self, url: str) -> None:
        self.committed = 0
        self._over = threading.Event()
        self._connection = psycopg.connect(url, **_CLIENT)  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                self._connection.execute("insert into paid values (%s)", (self.committed,))
                self.committed += 1
        except psycopg.OperationalError:
            self._connection.close()

    def stop(self) -> None:
        """Let it end."""
        self._over.set()
        self._thread.join(30)


@pytest.fixture
def server(host: ServiceHost) -> Iterator[Callable[..., PostgresServer]]:
    """Starts a server with some settings, and ends it."""
    servers: list[PostgresServer] = []

    def start(**settings: str) -> PostgresServer:
        servers.append(PostgreSQL().deploy(host, settings))
        servers[-1].start(host)
        servers[-1].wait_ready(_READY_S)
        return servers[-1]

    yield start
    host.signal(SERVICE, "KILL")
    host.run(["rm", "-rf", f"{host.data_dir}/postgresql"])


def kept(url: str) -> int:
    """Return how many numbers are there."""
    with psycopg.connect(url, **_CLIENT) as connection:  # type: ignore[arg-type]
        row = connection.execute("select count(*) from paid").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("commit", ["on", "off"])
def test_a_power_cut_takes_what_its_settings_say(
    host: ServiceHost, server: Callable[..., PostgresServer], commit: str
) -> None:
    database = server(synchronous_commit=commit, wal_writer_delay="10s")
    url = database.make("trial1", _TABLE)
    host.run(["sync", "-f", host.data_dir])
    payer = Payer(url)
    assert wait_until(lambda: payer.committed > 20, 60)
    power = host.power(PowerSwitch)
    power.power_cut()
    power.power_on()
    database.start(host)
    database.wait_ready(_READY_S)
    payer.stop()

    assert database.settings_in_effect()["synchronous_commit"] == commit
    lost = payer.committed - kept(url)
    assert lost > 0 if commit == "off" else lost <= 0


def test_its_backends_are_stopped_and_killed_with_it(host: ServiceHost, server: Callable[..., PostgresServer]) -> None:
    database = server()
    url = database.make("trial1", _TABLE)
    payer = Payer(url)
    host.signal(SERVICE, "STOP")
    time.sleep(0.5)
    stopped = payer.committed
    time.sleep(0.5)
    assert payer.committed == stopped
    assert host.state(SERVICE) is ServiceState.PAUSED
    assert not database.answers(host)

    host.signal(SERVICE, "CONT")
    assert wait_until(lambda: payer.committed > stopped, 30)
    assert database.answers(host)

    host.signal(SERVICE, "KILL")
    assert wait_until(lambda: host.run(["pgrep", "-x", "postgres"], check=False).out == "", 10)
    payer.stop()
    database.start(host)
    database.wait_ready(_READY_S)
    assert kept(url) >= payer.committed


def test_it_is_whole(host: ServiceHost) -> None:
    check_database("postgresql", host, {"synchronous_commit": "off"})
    host.run(["rm", "-rf", f"{host.data_dir}/postgresql"])


def test_a_statement_that_it_refuses_is_told(host: ServiceHost, server: Callable[..., PostgresServer]) -> None:
    database = server()
    with pytest.raises(ServiceError, match=r'PostgreSQL refuses .create tabel paid.*syntax error at or near "tabel"'):
        database.make("trial1", "create tabel paid (id int)")


def test_a_setting_that_it_does_not_have_is_told(server: Callable[..., PostgresServer]) -> None:
    with pytest.raises(ServiceError, match='unrecognized configuration parameter "synchronous_comit"'):
        server(synchronous_comit="off")
