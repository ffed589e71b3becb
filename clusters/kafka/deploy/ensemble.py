"""The ZooKeeper servers of a Kafka cluster on the hosts of a lab, and what they know of its brokers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kazoo.exceptions import NoNodeError

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.service import ServiceError
from clusters.common.java import server
from clusters.kafka.settings import KafkaOptions, zookeepers
from clusters.zookeeper.probe import settings_of, zookeeper_leader, zookeeper_modes
from clusters.zookeeper.server import PROGRAM, ZOOKEEPER, connection, prepare, zoo_cfg
from clusters.zookeeper.tree import connected

_FILE = "/etc/kafka/zoo.cfg"
_QUORUM_S = 30
_FORGOTTEN_S = 60
"""Longer than the default of `zookeeper.session.timeout.ms`, 6 s and since Kafka 2.5 18 s."""

_POLL_S, _LOOK_S = 0.1, 0.3
_REPORT_S = 5


class Ensemble:
    """The servers.

    Args:
        hosts: all hosts of the cluster; the id of a server counts from 1, as that of a broker.
        options: as in the scenario.

    Attributes:
        servers: the hosts with a server.
        connection: the connection string for clients.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: KafkaOptions) -> None:
        self._ids = {hosts[index].name: index + 1 for index in zookeepers(options, len(hosts))}
        self._options = options
        self.servers = [host for host in hosts if host.name in self._ids]
        self.connection = connection([host.address for host in self.servers])

    def install(self, host: ServiceHost) -> None:
        """Write the configuration of the host's server, if it has one."""
        if host.name in self._ids:
            addresses = {self._ids[server.name]: server.address for server in self.servers}
            written = zoo_cfg(self._options.zookeeper.config, addresses, host.address, host.data_dir)
            host.put(written.encode(), _FILE)

    def start(self, host: ServiceHost, classpath: str, further: Sequence[str]) -> None:
        """Start the host's server, if it has one that does not run.

        Args:
            host: the host.
            classpath: the class path of the jars there.
            further: JVM options.
        """
        if host.name not in self._ids or host.state(ZOOKEEPER) is not ServiceState.GONE:
            return
        prepare(host, self._ids[host.name])
        heap = self._options.zookeeper.heap
        command = [*server(classpath, (), ()), f"-Xms{heap}", f"-Xmx{heap}", *further, PROGRAM, _FILE]
        host.spawn(ZOOKEEPER, command, {})

    def await_readiness(self, node: int) -> None:
        """Wait until ZooKeeper serves and has forgotten the broker of this id that ran before: a broker that cannot
        connect, or finds itself registered, exits.

        Raises:
            ServiceError: it does not serve within half a minute.
        """
        if not wait_until(lambda: any(zookeeper_modes(self.servers)), _QUORUM_S, every_s=_POLL_S):
            raise ServiceError(f"ZooKeeper had no quorum within {_QUORUM_S} s")
        wait_until(lambda: self._has_forgotten(node), _FORGOTTEN_S, every_s=_LOOK_S)

    def names(self) -> tuple[str, ...]:
        """Return the names of the hosts with a server."""
        return tuple(self._ids)

    def missing(self) -> str:
        """Return why the servers are not complete; empty if they are."""
        return "" if all(zookeeper_modes(self.servers)) else "a ZooKeeper server is not part of the quorum"

    def leader(self) -> tuple[str, ...]:
        """Return the name of the host with the leader of the servers; raises like `zookeeper_leader`."""
        return zookeeper_leader(self.servers)

    def controller(self) -> int:
        """Return the id of the broker that ZooKeeper has as the controller.

        Raises:
            ServiceError: no server serves, or no broker is the controller.
        """
        with connected(self.connection, "the controller") as client:
            try:
                content = client.get("/controller")[0]
            except NoNodeError as error:
                raise ServiceError("no broker is currently the controller") from error
        return int(json.loads(content)["brokerid"])

    def cluster_id(self) -> str:
        """Return the id that the brokers gave the cluster.

        Raises:
            ServiceError: no server serves, or there is none.
        """
        with connected(self.connection, "the id of the cluster") as client:
            return str(json.loads(client.get("/cluster/id")[0])["id"])

    def settings_in_effect(self) -> Mapping[str, Mapping[str, str]]:
        """See `chaoskit.contract.systems.service.Reporting`."""
        try:
            return {f"zookeeper {host.name}": settings_of(host.address, _REPORT_S) for host in self.servers}
        except OSError as error:
            raise ServiceError(f"settings in effect: a ZooKeeper server does not answer: {error}") from error

    def _has_forgotten(self, node: int) -> bool:
        """Return whether a broker is not registered; False if no server serves just now."""
        try:
            with connected(self.connection, "the registered brokers") as client:
                return client.exists(f"/brokers/ids/{node}") is None
        except ServiceError:
            return False
