"""Pulsar on the hosts of a lab: install, configure, start, and ask who holds which role."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from chaoskit.cluster import ClusterError, TopicSpec
from chaoskit.errors import BadInput
from chaoskit.host import HostError, ServiceHost, ServiceState
from clusters.java import java
from clusters.pulsar import probe, roles, settings
from clusters.pulsar.admin import Admin, Refused
from clusters.pulsar.operator import Operator
from clusters.pulsar.settings import BOOKIE, BOOKIE_PORT, BROKER, BROKER_PORT, WEB_PORT, ZOOKEEPER, PulsarOptions

_FOLDER = "/etc/pulsar"
_FILES = {ZOOKEEPER: f"{_FOLDER}/zoo.cfg", BOOKIE: f"{_FOLDER}/bookkeeper.conf", BROKER: f"{_FOLDER}/broker.conf"}
_PROGRAMS = {
    ZOOKEEPER: ["org.apache.zookeeper.server.quorum.QuorumPeerMain", _FILES[ZOOKEEPER]],
    BOOKIE: ["org.apache.bookkeeper.server.Main", "--conf", _FILES[BOOKIE]],
    BROKER: ["org.apache.pulsar.PulsarBrokerStarter", "--broker-conf", _FILES[BROKER]],
}
_DATA = {ZOOKEEPER: "{}/zookeeper", BOOKIE: "{}/bookkeeper"}
_OPENED = (
    "java.base/java.nio",
    "java.base/sun.nio.ch",
    "java.base/jdk.internal.misc",
    "java.base/java.util.zip",
    "java.base/java.lang",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
"""What Pulsar's own start script opens to it, too: Netty and its caches reach into the JDK."""

_LOG4J = """\
status=error
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n%throwable
"""
_POLL_S = 0.1
_QUORUM_TIMEOUT_S = 30
_SETUP_TIMEOUT_S = 60
_CREATE_TIMEOUT_S = 30
_STATE_TIMEOUT_S = 3
_REFUSED_FOR_GOOD = (400, 404, 405, 412, 415)
"""HTTP statuses that another attempt will not change."""


class PulsarCluster:
    """A configured Pulsar cluster.

    Args:
        hosts: see `settings.Roles` for who gets which role.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: PulsarOptions, jars: Path) -> None:
        self.hosts = hosts
        self._options = options
        self._placed = settings.place(options, len(hosts))
        self._addresses = [host.address for host in hosts]
        self._admin = Admin([self._addresses[index] for index in self._placed.brokers])
        self._roles = roles.Roles(hosts, self._placed, self._admin)
        self._partitions: list[tuple[str, int]] = []
        self._setting_up = threading.Lock()
        self._set_up = False
        self._bookies_begun: set[str] = set()
        operator = Operator(self._admin, self._roles, self._partitions, self._bookkeeper_shell)
        self.led_by, self.give_up_leadership = operator.led_by, operator.give_up_leadership
        self.kept_by, self.decommission, self.recommission = (
            operator.kept_by,
            operator.decommission,
            operator.recommission,
        )
        with ThreadPoolExecutor(len(hosts)) as pool:
            self._jars = dict(pool.map(lambda index: self._install(index, jars), range(len(hosts))))

    def start(self, host: ServiceHost) -> None:
        """Start ZooKeeper; once it has a quorum, the rest: a bookie or broker that cannot reach it ends by itself."""
        services = self.services(host)
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
            if service != ZOOKEEPER:
                self._spawn(host, service)

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return self._placed.services(list(self.hosts).index(host))

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return all(probe.answers(service, host.address, timeout_s) for service in self.services(host))

    def wait_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while missing := self._missing():
            if time.monotonic() > deadline:
                raise ClusterError(f"Pulsar was not ready within {timeout_s:g} s: {missing}")
            time.sleep(_POLL_S)

    def find(self, role: str, topic: str, partition: int) -> tuple[str, ...]:
        return self._roles.find(role, topic, partition)

    def create_topic(self, topic: TopicSpec) -> None:
        if not self._partitions:
            for name, value in self._options.namespace.items():
                if value is not None:
                    _insist(f"cluster.namespace.{name}", partial(self._admin.set_policy, name, value))
        _insist(f"topic {topic.name}", partial(self._admin.create_topic, topic.name, topic.partitions))
        self._partitions += [(topic.name, partition) for partition in range(topic.partitions)]
        self.wait_ready(_CREATE_TIMEOUT_S)

    def client_settings(self) -> dict[str, Any]:
        brokers = [self._addresses[index] for index in self._placed.brokers]
        return {
            "service_url": "pulsar://" + ",".join(f"{address}:{BROKER_PORT}" for address in brokers),
            "brokers": brokers,
        }

    def close(self) -> None:
        """Nothing: no connection outlives a call."""

    def _install(self, index: int, jars: Path) -> tuple[str, str]:
        """Write the configuration of one host; return its name and the folder of the jars there."""
        host, options, addresses = self.hosts[index], self._options, self._addresses
        installed = host.install(jars)
        files = {f"{_FOLDER}/log4j2.properties": _LOG4J}
        for service in self.services(host):
            if service == ZOOKEEPER:
                files[_FILES[ZOOKEEPER]] = settings.zoo_cfg(options, addresses, index, host.data_dir)
            elif service == BOOKIE:
                interface = _interface(host)
                files[_FILES[BOOKIE]] = settings.bookkeeper_conf(options, addresses, index, host.data_dir, interface)
            else:
                files[_FILES[BROKER]] = settings.broker_conf(options, addresses, index)
        for path, content in files.items():
            host.put(content.encode(), path)
        return host.name, installed

    def _spawn(self, host: ServiceHost, service: str) -> None:
        if host.state(service) is not ServiceState.GONE:
            return
        if service != BROKER:
            self._prepare_disk(host, service)
        heap = getattr(self._options.heap, service)
        memory = [f"-Xms{heap}", f"-Xmx{heap}", f"-XX:MaxDirectMemorySize={heap}"]
        host.spawn(service, [*self._java(host), *memory, *self._options.jvm, *_PROGRAMS[service]], {})

    def _prepare_disk(self, host: ServiceHost, service: str) -> None:
        """Make what a service expects on an empty disk; of a bookie that lost its disk, have its old data forgotten.

        BookKeeper does not start a bookie without the data that it is known for ("cookie") until an operator says so.
        """
        folder = _DATA[service].format(host.data_dir)
        if host.run(["test", "-d", folder], check=False).status == 0:
            return
        if service == BOOKIE and host.name in self._bookies_begun:
            status, told = self._bookkeeper_shell(
                host, ["cookie_delete", f"{host.address}:{BOOKIE_PORT}"], _SETUP_TIMEOUT_S
            )
            if status != 0:
                raise ClusterError(
                    f"the bookie on {host.name}, which lost its disk, stays known: {told.strip()[-500:]}"
                )
        host.run(["mkdir", "-p", folder])
        if service == ZOOKEEPER:
            host.put(f"{list(self.hosts).index(host) + 1}\n".encode(), f"{folder}/myid")
        else:
            self._bookies_begun.add(host.name)

    def _java(self, host: ServiceHost) -> list[str]:
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        classpath = f"{self._jars[host.name]}/*"
        logging = f"-Dlog4j2.configurationFile={_FOLDER}/log4j2.properties"
        return [*java(classpath), *opened, logging, "-Dio.netty.tryReflectionSetAccessible=true"]

    def _set_up_metadata(self, host: ServiceHost) -> None:
        """Write what a new cluster needs into ZooKeeper; what is there already stays."""
        store = f"zk:{settings.connection(self._addresses, self._placed)}"
        broker = self._addresses[self._placed.brokers[0]]
        program = ["org.apache.pulsar.PulsarClusterMetadataSetup", "--cluster", settings.CLUSTER_NAME]
        stores = ["--metadata-store", store, "--configuration-metadata-store", store]
        urls = ["--web-service-url", f"http://{broker}:{WEB_PORT}"]
        urls += ["--broker-service-url", f"pulsar://{broker}:{BROKER_PORT}"]
        argv = [*self._java(host), "-Xmx128m", *program, *stores, *urls]
        done = host.run(argv, timeout_s=_SETUP_TIMEOUT_S, check=False)
        if done.status != 0:
            raise ClusterError(f"Pulsar's metadata could not be set up:\n{(done.out + done.err).strip()[-1000:]}")

    def _bookkeeper_shell(self, host: ServiceHost, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        program = ["org.apache.bookkeeper.bookie.BookieShell", "-conf", _FILES[BOOKIE]]
        done = host.run([*self._java(host), "-Xmx128m", *program, *command], timeout_s=timeout_s, check=False)
        return done.status, done.out + done.err

    def _await_quorum(self) -> None:
        """Wait until ZooKeeper serves.

        Raises:
            ClusterError: it does not within half a minute.
        """
        deadline = time.monotonic() + _QUORUM_TIMEOUT_S
        while not any(self._modes()):
            if time.monotonic() > deadline:
                raise ClusterError(f"ZooKeeper had no quorum within {_QUORUM_TIMEOUT_S} s")
            time.sleep(_POLL_S)

    def _modes(self) -> list[str]:
        """Return what each ZooKeeper server is now; empty for one that serves nothing."""
        return [roles.zookeeper_mode(self._addresses[index]) for index in self._placed.zookeepers]

    def _missing(self) -> str:
        """Say what keeps the cluster from being ready; empty when it is."""
        silent = [
            (host, service)
            for host in self.hosts
            for service in self.services(host)
            if not probe.answers(service, host.address, 0.5)
        ]
        for host, service in silent:
            self._check_alive(host, service)
        if silent:
            return f"no answer from {', '.join(f'{service} on {host.name}' for host, service in silent)}"
        if not all(self._modes()):
            return "a ZooKeeper server is not part of the quorum"
        registered = self._roles.registered_bookies()
        if missing := [host.name for host in self._roles.bookies() if host.address not in registered]:
            return f"bookies on {', '.join(missing)} are not registered as writable"
        return next(filter(None, (self._missing_partition(*each) for each in self._partitions)), "")

    def _missing_partition(self, topic: str, partition: int) -> str:
        try:
            state = self._admin.state(topic, partition, _STATE_TIMEOUT_S)
        except ClusterError as error:
            return f"{topic}/{partition}: {error}"
        return "" if state.writable else f"{topic}/{partition} has no ledger that is open for writing"

    def _check_alive(self, host: ServiceHost, service: str) -> None:
        """Raise if a service ended by itself: waiting longer would not help.

        Raises:
            ClusterError: with its last errors.
        """
        if host.state(service) is ServiceState.GONE:
            argv = ["grep", "-E", "ERROR|FATAL|Exception|Error:|Unrecognized", host.log_path(service)]
            errors = host.run(argv, check=False).out.strip().splitlines()
            raise ClusterError(f"{service} on {host.name} ended by itself:\n" + "\n".join(errors[-3:]))


def _insist(what: str, ask: Callable[[], None]) -> None:
    """Ask brokers until they do it.

    Raises:
        BadInput: they refuse it for what it is.
        ClusterError: they did not within half a minute.
    """
    deadline = time.monotonic() + _CREATE_TIMEOUT_S
    while True:
        try:
            return ask()
        except Refused as refusal:
            if refusal.status in _REFUSED_FOR_GOOD:
                raise BadInput(f"{what}: Pulsar refuses it: {refusal}") from refusal
            failure: ClusterError = refusal
        except ClusterError as error:
            failure = error
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: brokers did not do it within {_CREATE_TIMEOUT_S} s: {failure}")
        time.sleep(_POLL_S)


def _interface(host: ServiceHost) -> str:
    """Return the name of the network interface that has the host's address."""
    listed = host.run(["ip", "-o", "address", "show"]).out
    found = re.search(rf"^\d+: (\S+)\s+inet {re.escape(host.address)}/", listed, re.MULTILINE)
    if found is None:
        raise HostError(f"host {host.name} has no network interface with the address {host.address}")
    return found[1]
