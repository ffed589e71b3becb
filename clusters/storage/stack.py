"""ZooKeeper and bookies on the hosts of a lab: a BookKeeper cluster, and the base of a Pulsar cluster."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from chaoskit.base.parallel import on_each
from chaoskit.base.waiting import wait_until, wait_while
from chaoskit.contract.hosts.host import HostError, ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.common.java import PRODUCTION, java, server
from clusters.common.restart_loop import exits, looped
from clusters.common.supervision import Supervisor, last_errors
from clusters.storage import probe, settings
from clusters.storage.decommission import Decommissioner, bookie_id, decommissioning
from clusters.storage.roles import StorageRoles
from clusters.storage.settings import BOOKIE, BookieFolders, StorageOptions, StoragePlacement
from clusters.zookeeper.probe import settings_of, zookeeper_modes
from clusters.zookeeper.server import PROGRAM, ZOOKEEPER, prepare

_OPENED = (
    "java.base/java.nio",
    "java.base/sun.nio.ch",
    "java.base/jdk.internal.misc",
    "java.base/java.util.zip",
    "java.base/java.lang",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
"""The same as in BookKeeper's and Pulsar's own start scripts: Netty and its caches access JDK internals."""

_LOG4J = """\
status=error
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n%throwable
"""
_IPV4 = "-Djava.net.preferIPv4Stack=true"
"""From 4.18 on a bookie takes its id from any address of its interface, and refuses one of IPv6."""

_POLL_S = 0.1
_EXITS_MAX = 3
_QUORUM_TIMEOUT_S = 30
_SETUP_TIMEOUT_S = 60
_SHELL_TIMEOUT_S = 120
_REPORT_TIMEOUT_S = 5
_UNREGISTERED_S = 30
_REGISTERED_S = 20

Options = TypeVar("Options", bound=StorageOptions)


class StorageStack(ABC, Generic[Options]):
    """Configured hosts with ZooKeeper, bookies, and further services of a system.

    Args:
        system: its name; in lower case, the name of its configuration folder.
        hosts: see `settings.Roles` for their roles.
        options: as in the scenario.
        roles: looks up the roles of these hosts.
        jars: folder of verified jars on this machine.
    """

    def __init__(
        self, system: str, hosts: Sequence[ServiceHost], options: Options, roles: StorageRoles, jars: Path
    ) -> None:
        self.hosts = hosts
        self._system = system
        self._folder = f"/etc/{system.lower()}"
        self._options = options
        self._placed: StoragePlacement = options.place(len(hosts))
        self._addresses = [host.address for host in hosts]
        self._roles = roles
        self._setting_up = threading.Lock()
        self._set_up = False
        self._bookies_begun: set[str] = set()
        self._needs = tuple(hosts[index].name for index in self._placed.zookeepers)
        self._supervisor = Supervisor(self._spawn, self._needs)
        self._holders: list[object] = [self]
        if decommissioning(options):
            self._holders.append(Decommissioner(options, roles, self._bookkeeper_shell))
        self._jars = dict(on_each(range(len(hosts)), lambda index: self._install(index, jars)))

    def power(self, kind: type[P]) -> P:
        return held(kind, self._holders, f"this {self._system} cluster")

    @abstractmethod
    def metadata_setup(self, host: ServiceHost) -> list[str]:
        """Return the Java class, with arguments, that initializes the metadata of a new cluster in ZooKeeper."""

    def configuration(self, index: int) -> Mapping[str, str]:
        """Return the content of each file of the host at `index`, by its path."""
        host, options, addresses = self.hosts[index], self._options, self._addresses
        files = {f"{self._folder}/log4j2.properties": _LOG4J}
        services = self.services(host)
        if ZOOKEEPER in services:
            files[self._file("zoo.cfg")] = settings.zoo_cfg(options, addresses, index, host.data_dir)
        if BOOKIE in services:
            interface = _interface(host)
            folders = BookieFolders.on(host.disks, options)
            conf = settings.bookkeeper_conf(options, addresses, index, folders, interface)
            files[self._file("bookkeeper.conf")] = conf
        return files

    def program(self, service: str) -> list[str]:
        """Return the Java class of a service, with arguments."""
        return {
            ZOOKEEPER: [PROGRAM, self._file("zoo.cfg")],
            BOOKIE: ["org.apache.bookkeeper.server.Main", "--conf", self._file("bookkeeper.conf")],
        }[service]

    def service_answers(self, service: str, host: ServiceHost, timeout_s: float) -> bool:
        """Return whether one service of a host answers in time."""
        return probe.answers(service, host.address, timeout_s)

    def start(self, host: ServiceHost) -> None:
        """Start ZooKeeper, wait for a quorum, and start the rest: bookies and brokers exit if they cannot reach it.

        In a new cluster brokers wait for the bookies. Later an impatient supervisor waits for nothing.
        """
        services = self.services(host)
        if self._set_up and not self._options.is_patient:
            for service in services:
                self._spawn(host, service)
            return
        if ZOOKEEPER in services:
            self._spawn(host, ZOOKEEPER)
        if services == (ZOOKEEPER,):
            return
        self._await_quorum()
        with self._setting_up:
            if not self._set_up:
                self._set_up_metadata(host)
                self._set_up = True
        for service in services:
            if service not in (ZOOKEEPER, BOOKIE) and not self._supervisor.served:
                self._await_registered()
            if service != ZOOKEEPER:
                self._spawn(host, service)

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return self._placed.services(list(self.hosts).index(host))

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return all(self.service_answers(service, host, timeout_s) for service in self.services(host))

    def wait_ready(self, timeout_s: float) -> None:
        self._supervisor.begin()
        if missing := wait_while(self.missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"{self._system} was not ready within {timeout_s:g} s: {missing}")
        self._supervisor.served = True

    def missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        silent = [
            (host, service)
            for host in self.hosts
            for service in self.services(host)
            if not self.service_answers(service, host, 0.5)
        ]
        if self._options.is_patient:
            self._supervisor.look_after(silent)
        elif not self._supervisor.served:
            self._refuse_loops(silent)
        if silent:
            return f"no answer from {', '.join(f'{service} on {host.name}' for host, service in silent)}"
        if not all(zookeeper_modes(self._roles.zookeepers())):
            return "a ZooKeeper server is not part of the quorum"
        if missing := self._unregistered():
            return f"bookies on {', '.join(missing)} are not registered as writable"
        return ""

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.systems.installation.Supervision`."""
        if self._options.is_patient:
            return self._supervisor.revivals
        revivals = [exits(host, service, self._needs) for host in self.hosts for service in self.services(host)]
        return sorted(revival for some in revivals for revival in some)

    def settings_in_effect(self) -> dict[str, Mapping[str, str]]:
        """See `chaoskit.contract.systems.service.Reporting`. A bookie without HTTP server reports none."""
        try:
            return {
                f"zookeeper {host.name}": settings_of(host.address, _REPORT_TIMEOUT_S)
                for host in self._roles.zookeepers()
            }
        except OSError as error:
            raise ServiceError(f"settings in effect: a ZooKeeper server does not answer: {error}") from error

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return self._roles.find(role, place)

    def close(self) -> None:
        return None  # no connection outlives a call

    def _file(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _install(self, index: int, jars: Path) -> tuple[str, str]:
        """Write the configuration of one host; return its name and its folder of jars."""
        host = self.hosts[index]
        installed = host.install(jars)
        for path, content in self.configuration(index).items():
            host.put(content.encode(), path)
        return host.name, installed

    def _spawn(self, host: ServiceHost, service: str) -> None:
        if host.state(service) is not ServiceState.GONE:
            return
        options = self._options
        if service == ZOOKEEPER:
            prepare(host, list(self.hosts).index(host) + 1)
        if service == BOOKIE:
            self._prepare_bookie(host)
            if options.is_patient:
                self._await_unregistered(host)
        heap = options.heap.of(service, production=PRODUCTION in options.jvm)
        memory = [f"-Xms{heap}", f"-Xmx{heap}", f"-XX:MaxDirectMemorySize={heap}"]
        program = server(self._classpath(host), options.jvm, settings.PRODUCTION_JVM)
        own = [_IPV4] if service == BOOKIE else []
        command = [*program, *self._properties(), *own, *memory, *self.program(service)]
        host.spawn(service, command if options.is_patient else looped(command), {})

    def _refuse_loops(self, silent: Sequence[tuple[ServiceHost, str]]) -> None:
        """Give up on a new cluster in which a service exits again and again.

        Raises:
            ServiceError: one does; the message has its last errors.
        """
        for host, service in silent:
            if len(exits(host, service, self._needs)) >= _EXITS_MAX:
                raise ServiceError(f"{service} on {host.name} exited unexpectedly:\n{last_errors(host, service)}")

    def _unregistered(self) -> list[str]:
        """Return the names of the hosts whose bookies are not registered as writable."""
        registered = self._roles.registered_bookies()
        return [host.name for host in self._roles.bookies() if host.address not in registered]

    def _await_registered(self) -> None:
        """Wait, at most 20 s, until all bookies are registered.

        A broker that starts while they register may miss some of them until it is restarted, and then says that there
        are not enough (https://github.com/apache/pulsar/issues/23020).
        """
        wait_until(lambda: not self._unregistered(), _REGISTERED_S, every_s=_POLL_S)

    def _await_unregistered(self, host: ServiceHost) -> None:
        """Wait, at most half a minute, until ZooKeeper no longer lists the bookie that ran here before.

        A bookie that finds itself registered waits only for the length of its own session (`zkTimeout`), but after a
        ZooKeeper election the old session lasts longer. The bookie then shuts down, and its process stays.
        """
        wait_until(lambda: host.address not in self._roles.registered_bookies(), _UNREGISTERED_S, every_s=_POLL_S)

    def _prepare_bookie(self, host: ServiceHost) -> None:
        """Create what a bookie expects on empty disks. If it lost one of its disks, set it up again as an empty bookie.

        BookKeeper does not start a bookie whose data is missing, even in part (it checks a "cookie" in each directory),
        without an operator's consent. So without repairs it stays down.
        """
        folders = BookieFolders.on(host.disks, self._options)
        every = [*folders.journals, *folders.ledgers]
        if host.run(["ls", "-d", *every], check=False).status == 0:
            return
        if host.name not in self._bookies_begun or self._options.repairs_cookies:
            if host.name in self._bookies_begun:
                self._bookkeeper_shell(host, ["cookie_delete", bookie_id(host)])
            host.run(["rm", "-rf", *every])
        host.run(host.as_service(["mkdir", "-p", *every]))
        self._bookies_begun.add(host.name)

    def _bookkeeper_shell(self, host: ServiceHost, command: Sequence[str]) -> str:
        """Run a command of BookKeeper's shell on a host with a bookie; return its output."""
        program = ["org.apache.bookkeeper.bookie.BookieShell", "-conf", self._file("bookkeeper.conf")]
        argv = [*self._tool(host), *program, *command]
        done = host.run(argv, timeout_s=_SHELL_TIMEOUT_S, check=False)
        if done.status != 0:
            raise ServiceError(f"{command[0]} failed on {host.name}: {(done.out + done.err).strip()[-500:]}")
        return done.out + done.err

    def _tool(self, host: ServiceHost) -> list[str]:
        return [*java(self._classpath(host)), *self._properties(), _IPV4, "-Xmx128m"]

    def _classpath(self, host: ServiceHost) -> str:
        return f"{self._jars[host.name]}/*"

    def _properties(self) -> list[str]:
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        logging = f"-Dlog4j2.configurationFile={self._file('log4j2.properties')}"
        return [*opened, logging, "-Dio.netty.tryReflectionSetAccessible=true"]

    def _set_up_metadata(self, host: ServiceHost) -> None:
        argv = [*self._tool(host), *self.metadata_setup(host)]
        done = host.run(argv, timeout_s=_SETUP_TIMEOUT_S, check=False)
        if done.status != 0:
            said = (done.out + done.err).strip()[-1000:]
            raise ServiceError(f"{self._system}'s metadata could not be initialized:\n{said}")

    def _await_quorum(self) -> None:
        """Wait until ZooKeeper serves.

        Raises:
            ServiceError: it does not serve within half a minute.
        """
        if not wait_until(lambda: any(zookeeper_modes(self._roles.zookeepers())), _QUORUM_TIMEOUT_S, every_s=_POLL_S):
            raise ServiceError(f"ZooKeeper had no quorum within {_QUORUM_TIMEOUT_S} s")


def _interface(host: ServiceHost) -> str:
    """Return the name of the network interface that has the host's address."""
    listed = host.run(["ip", "-o", "address", "show"]).out
    match = re.search(rf"^\d+: (\S+)\s+inet {re.escape(host.address)}/", listed, re.MULTILINE)
    if match is None:
        raise HostError(f"host {host.name} has no network interface with the address {host.address}")
    return match[1]
