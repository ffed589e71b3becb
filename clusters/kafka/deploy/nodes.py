"""Kafka's processes on the hosts of a lab, and ZooKeeper's if there are any: install, configure, format, start."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Sequence
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import HostError, ServiceHost, ServiceState
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.common.directories import paths
from clusters.common.java import java, server
from clusters.common.supervision import last_errors
from clusters.kafka import artifacts, settings
from clusters.kafka.deploy.ensemble import Ensemble
from clusters.kafka.security import users
from clusters.kafka.settings import CONTROLLER_PORT, KafkaOptions
from clusters.kafka.tiered import store
from clusters.kafka.tiered.options import OBJECT_STORE
from clusters.zookeeper.server import ZOOKEEPER, folder_of

SERVICE = "kafka"
_FOLDER = "/etc/kafka"
_METADATA = "__cluster_metadata"
_READ_S = 5
_PARTITION_FILE = re.compile(r"/([^/]+)-(\d+)/[^/]+$")
PROPERTIES = f"{_FOLDER}/server.properties"
_ZOOKEEPER_DATA = "version-2"
_NAMES = {SERVICE: "Kafka", ZOOKEEPER: "ZooKeeper", OBJECT_STORE: "the object store"}
_LOGGING = (
    f"-Dlog4j2.configurationFile={_FOLDER}/log4j2.properties",
    f"-Dlog4j.configuration=file:{_FOLDER}/log4j.properties",
)


class KafkaNodes:
    """The powers `Installation` and `DataFiles` of `chaoskit.contract.systems.service`.

    Args:
        hosts: brokers first, then hosts with controllers or ZooKeeper only.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
        ensemble: the ZooKeeper servers; None in KRaft mode.

    Attributes:
        cluster_id: the id with which log directories are formatted.
    """

    def __init__(
        self, hosts: Sequence[ServiceHost], options: KafkaOptions, jars: Path, ensemble: Ensemble | None
    ) -> None:
        self._hosts = hosts
        self._options = options
        self._ensemble = ensemble
        self._tiered = store.programs(options.version, jars) if options.tiered_storage else None
        self._services = _placed(options, hosts)
        self._in_zookeeper = {host.name for host in hosts} if options.in_zookeeper else set[str]()
        given = self._given_id()
        self.cluster_id = given or cluster_id()
        self._jars: dict[str, str] = {}
        self._plugins: dict[str, str] = {}
        self._initial = "" if given else _initial_controllers(options, hosts)
        on_each(range(len(hosts)), lambda index: self._install(index, jars))
        self._initial = ""  # disks that are formatted know who votes; a new one beside them does not

    def start(self, host: ServiceHost) -> None:
        if self._ensemble is not None and ZOOKEEPER in self.services(host):
            self._ensemble.start(host, self._classpath(host), _LOGGING)
        if self._options.tiered_storage is not None and OBJECT_STORE in self.services(host):
            store.start(host, self._plugins[host.name], self._options.tiered_storage)
        if SERVICE not in self.services(host) or host.state(SERVICE) is not ServiceState.GONE:
            return
        if self._ensemble is not None and host.name in self._in_zookeeper:
            host.run(host.as_service(["mkdir", "-p", *self.log_dirs(host)]))
            self._ensemble.await_readiness(self._hosts.index(host) + 1)
        elif host.run(["ls", *self._metadata(host)], check=False).status != 0:
            self._format(host)
        options = self._options
        heap = settings.heap_of(options)
        argv = server(self._classpath(host), options.jvm, settings.PRODUCTION_JVM)
        host.spawn(SERVICE, [*argv, f"-Xms{heap}", f"-Xmx{heap}", *_LOGGING, "kafka.Kafka", PROPERTIES], {})

    def move(
        self, host: ServiceHost, services: tuple[str, ...], properties: str, *, in_zookeeper: bool = False
    ) -> None:
        """Give a host other services and another server.properties, which count from its next start on.

        Args:
            host: the host.
            services: its services, in start order.
            properties: content of server.properties.
            in_zookeeper: whether its broker is still registered in ZooKeeper.
        """
        self._services[host.name] = services
        (self._in_zookeeper.add if in_zookeeper else self._in_zookeeper.discard)(host.name)
        host.put(properties.encode(), PROPERTIES)

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return self._services[host.name]

    def files(self, host: ServiceHost, what: str, topic: str, partition: int) -> list[str]:
        pattern = settings.DATA_FILES.get(what)
        if pattern is None:
            raise ServiceError(f"unknown type of Kafka file {what!r}; known: {', '.join(settings.DATA_FILES)}")
        name = pattern.format(topic=topic, partition=partition)
        places = " ".join(f"{folder}/{name}" for folder in self.log_dirs(host))
        if self._ensemble is not None and what == "metadata":
            places = f"{folder_of(host.data_dir)}/{_ZOOKEEPER_DATA}/log.*"
        listed = host.run(["sh", "-c", "ls -tr $1 2>/dev/null", "list", places], check=False)
        return listed.out.split()

    def partition_of(self, path: str) -> Place | None:
        match = _PARTITION_FILE.search(path)
        is_metadata = match is None or match[1] == _METADATA or f"{folder_of('')}/{_ZOOKEEPER_DATA}/" in path
        return None if match is None or is_metadata else (match[1], int(match[2]))

    def release_of(self, host: ServiceHost) -> str:
        """See `chaoskit.contract.systems.operating.Upgrade`."""
        script = "tr '\\0' '\\n' < /proc/$(pgrep -o -f kafka.Kafka)/cmdline"
        running = re.search(r"/kafka-([0-9.]+)/", host.run(["sh", "-c", script]).out)
        if running is None:
            raise ServiceError(f"Kafka is not running on {host.name}")
        return running[1]

    def install_release(self, host: ServiceHost, version: str) -> None:
        """See `chaoskit.contract.systems.operating.Upgrade`."""
        self._jars[host.name] = host.install(artifacts.fetch(version))

    def check_alive(self, host: ServiceHost) -> None:
        """Raise if a service of a host exited unexpectedly, because waiting longer would not help.

        Raises:
            ServiceError: the message has its last errors.
        """
        for service in self.services(host):
            if host.state(service) is ServiceState.GONE:
                name = _NAMES[service]
                raise ServiceError(f"{name} on {host.name} exited unexpectedly:\n{last_errors(host, service)}")

    def _install(self, index: int, jars: Path) -> None:
        host = self._hosts[index]
        addresses = [host.address for host in self._hosts]
        self._jars[host.name] = host.install(jars)
        if self._tiered is not None:
            self._plugins[host.name] = host.install(self._tiered)
        for name, content in settings.LOGGING.items():
            host.put(content.encode(), f"{_FOLDER}/{name}")
        if self._ensemble is not None:
            self._ensemble.install(host)
        if SERVICE in self.services(host):
            properties = settings.server_properties(self._options, addresses, index, self.log_dirs(host))
            host.put(properties.encode(), PROPERTIES)
        if self._ensemble is None and SERVICE in self.services(host):
            self._format(host)

    def _voting(self, host: ServiceHost) -> list[str]:
        """Return how a controller is formatted where the voters are dynamic: as one of the first voters, or as one that
        does not vote."""
        has_controller = self._hosts.index(host) in settings.controllers(self._options, len(self._hosts))
        if self._options.voters == "static" or not has_controller:
            return []
        return ["--initial-controllers", self._initial] if self._initial else ["--no-initial-controllers"]

    def _format(self, host: ServiceHost) -> None:
        """Format the log directories that are not formatted yet.

        Raises:
            BadInput: Kafka rejects the configuration.
        """
        host.run(host.as_service(["mkdir", "-p", *self.log_dirs(host)]))
        tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", self.cluster_id, "-c", PROPERTIES]
        tool += [
            argument for name, level in self._options.features.items() for argument in ("--feature", f"{name}={level}")
        ]
        tool += [*self._voting(host), *users(self._options.security)]
        done = host.run(host.as_service([*java(self._classpath(host)), *tool]), timeout_s=60, check=False)
        if done.status != 0:
            refusals = [
                line.partition("ConfigException: ")[2] for line in done.err.splitlines() if "Exception: " in line
            ]
            why = refusals[0] if refusals else done.err or done.out
            name = next((name for name in self._options.config if f"configuration {name}" in why), "")
            key = f"cluster.config.{name}" if name else "cluster.config or cluster.features"
            raise BadInput(f"{key}: rejected by Kafka: {why}")

    def _given_id(self) -> str:
        """Return the cluster id from disks that are already formatted; empty if there are none."""
        for host in self._hosts:
            done = host.run(["sed", "-n", "s/^cluster.id=//p", *self._metadata(host)], check=False)
            if done.out:
                return done.out.split()[0]
        return ""

    def metadata_dir(self, host: ServiceHost) -> str:
        """Return the folder of a node's metadata log: the first log directory, as Kafka chooses it."""
        return self.log_dirs(host)[0]

    def disk_id(self, host: ServiceHost) -> str:
        """Return the id of the disk with a node's metadata log; empty if it cannot be read, as without power."""
        try:
            read = ["sed", "-n", "s/^directory.id=//p", self._metadata(host)[0]]
            return host.run(read, check=False, timeout_s=_READ_S).out.strip()
        except HostError:
            return ""

    def _metadata(self, host: ServiceHost) -> list[str]:
        """Return the files that a formatted log directory has."""
        return [f"{folder}/meta.properties" for folder in self.log_dirs(host)]

    def log_dirs(self, host: ServiceHost) -> list[str]:
        """Return the host's log directories."""
        return paths(self._options.log_dirs, host.disks, settings.DATA_FOLDER)

    def _classpath(self, host: ServiceHost) -> str:
        plugins = f":{self._plugins[host.name]}" if self._plugins else ""
        return f"{self._jars[host.name]}/*{plugins}"


def _placed(options: KafkaOptions, hosts: Sequence[ServiceHost]) -> dict[str, tuple[str, ...]]:
    """Return the services of each host, in start order."""
    servers, nodes = settings.zookeepers(options, len(hosts)), settings.nodes(options, len(hosts))
    stores = range(settings.node_count(options, len(hosts)), len(hosts))
    places = {ZOOKEEPER: servers, SERVICE: nodes, OBJECT_STORE: stores}
    return {
        host.name: tuple(service for service, indexes in places.items() if index in indexes)
        for index, host in enumerate(hosts)
    }


def _initial_controllers(options: KafkaOptions, hosts: Sequence[ServiceHost]) -> str:
    """Return who votes at first, where the voters are dynamic, with an id for the disk of each."""
    voters = settings.controllers(options, len(hosts))
    return ",".join(f"{index + 1}@{hosts[index].address}:{CONTROLLER_PORT}:{cluster_id()}" for index in voters)


def cluster_id() -> str:
    """Return a new id of a cluster, or of a disk: 16 bytes in URL-safe Base64. A leading dash is avoided, because
    `kafka-storage` would parse it as an option (Kafka's own `Uuid.randomUuid` avoids it as well)."""
    while (drawn := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        continue
    return drawn
