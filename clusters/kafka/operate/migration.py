"""The migration of a cluster's metadata from ZooKeeper to KRaft, host by host.

Source: Kafka 3.9 documentation, "ZooKeeper to KRaft Migration". The hosts with ZooKeeper only get the controllers. They
copy what ZooKeeper has, once all brokers are restarted with the settings of the migration. Then brokers are restarted
without ZooKeeper; at last the controllers are, and ZooKeeper is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.service import ServiceError
from clusters.common.properties import properties
from clusters.kafka.deploy.ensemble import Ensemble
from clusters.kafka.deploy.nodes import SERVICE, KafkaNodes
from clusters.kafka.settings import KafkaOptions, quorum, server_properties
from clusters.zookeeper.server import ZOOKEEPER

_COPY, _LEAVE = "copy", "leave"
_DONE = "Completed migration of metadata from ZooKeeper to KRaft"
_WITHIN_S = 60
_POLL_S = 0.2


class Migrator:
    """The power `Migration` of `chaoskit.contract.systems.operating`.

    Args:
        hosts: all hosts of the cluster.
        options: as in the scenario.
        nodes: the processes on the hosts.
        ensemble: the ZooKeeper servers.
        done: told once the cluster needs ZooKeeper no more.
    """

    rounds: Sequence[str] = (_COPY, _LEAVE)

    def __init__(
        self,
        hosts: Sequence[ServiceHost],
        options: KafkaOptions,
        nodes: KafkaNodes,
        ensemble: Ensemble,
        done: Callable[[], None],
    ) -> None:
        self._hosts = hosts
        self._before = options
        self._after = options.model_copy(update={"metadata": "kraft", "controllers": options.zookeeper.hosts})
        self._nodes = nodes
        self._ensemble = ensemble
        self._done = done
        self._round = ""

    def takes_part(self, host: ServiceHost) -> bool:
        return host not in self._ensemble.servers

    def begin_round(self, name: str) -> None:
        self._round = name
        if name == _COPY:
            self._nodes.cluster_id = self._ensemble.cluster_id()
            for host in self._ensemble.servers:
                self._nodes.move(host, (ZOOKEEPER, SERVICE), self._written(host, self._after, self._bridge()))
                self._nodes.start(host)

    def reconfigure(self, host: ServiceHost) -> None:
        if self._round == _COPY:
            further = {**self._bridge(), **quorum(self._after, self._addresses)}
            self._nodes.move(host, (SERVICE,), self._written(host, self._before, further), in_zookeeper=True)
        else:
            self._nodes.move(host, (SERVICE,), self._written(host, self._after, {}))

    def end_round(self, name: str) -> str:
        if name == _COPY:
            if not wait_until(self._has_copied, _WITHIN_S, every_s=_POLL_S):
                raise ServiceError(f"the controllers did not complete the migration within {_WITHIN_S} s")
            return "the controllers have copied the metadata from ZooKeeper"
        for host in self._ensemble.servers:
            self._stop(host, SERVICE)
            self._stop(host, ZOOKEEPER)
            self._nodes.move(host, (SERVICE,), self._written(host, self._after, {}))
            self._nodes.start(host)
        self._done()
        return "brokers and controllers run without ZooKeeper, which is stopped"

    @property
    def _addresses(self) -> list[str]:
        return [host.address for host in self._hosts]

    def _bridge(self) -> dict[str, Any]:
        """Return the settings of all nodes while the metadata is in both."""
        return {"zookeeper.metadata.migration.enable": True, "zookeeper.connect": self._ensemble.connection}

    def _written(self, host: ServiceHost, options: KafkaOptions, further: dict[str, Any]) -> str:
        index = self._hosts.index(host)
        written = server_properties(options, self._addresses, index, self._nodes.log_dirs(host))
        return written + properties(further)

    def _has_copied(self) -> bool:
        script = 'grep -qF "$2" "$1"'
        return any(
            host.run(["sh", "-c", script, "copied", host.log_path(SERVICE), _DONE], check=False).status == 0
            for host in self._ensemble.servers
        )

    def _stop(self, host: ServiceHost, service: str) -> None:
        host.signal(service, "TERM")
        if not wait_until(lambda: host.state(service) is ServiceState.GONE, _WITHIN_S, every_s=_POLL_S):
            raise ServiceError(f"{service} on {host.name} did not stop within {_WITHIN_S} s")
