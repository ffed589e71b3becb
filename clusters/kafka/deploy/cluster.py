"""A Kafka cluster: its topics, its roles, and whether it is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.installation import Installed
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka import roles, settings
from clusters.kafka.connection import BOOTSTRAP, BROKERS, NAMESPACE, STORE, coordinated_id, group
from clusters.kafka.deploy.effective import Reporter
from clusters.kafka.deploy.ensemble import Ensemble
from clusters.kafka.deploy.nodes import KafkaNodes
from clusters.kafka.deploy.probe import PartitionState, answers
from clusters.kafka.deploy.service import KafkaService
from clusters.kafka.deploy.transaction_looks import transaction_looks
from clusters.kafka.java.settings import own_client
from clusters.kafka.operate.operators import operators_of
from clusters.kafka.security import Credentials
from clusters.kafka.settings import BROKER_PORT, CONTROLLER_PORT, KafkaOptions
from clusters.kafka.shares.groups import topic_id
from clusters.kafka.tiered import store
from clusters.kafka.tiered.options import OBJECT_STORE, server
from clusters.kafka.tiered.tiering import KafkaTiering
from clusters.zookeeper.probe import zookeeper_answers
from clusters.zookeeper.server import ZOOKEEPER


class KafkaCluster(KafkaService):
    """A formatted Kafka cluster; see `chaoskit.contract.systems.service.Service`.

    Args:
        hosts: brokers first, then hosts with controllers, ZooKeeper or an object store only.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: KafkaOptions, jars: Path) -> None:
        brokers = hosts[: settings.broker_count(options, len(hosts))]
        self._bootstrap = ",".join(f"{host.address}:{BROKER_PORT}" for host in brokers)
        quiet = {"topic.metadata.refresh.interval.ms": -1, "log_level": 0}
        admin = AdminClient({BOOTSTRAP: self._bootstrap, **quiet}, logger=None)
        super().__init__(admin, options, {node: host.name for node, host in enumerate(hosts, 1)})
        self.wire = settings.WIRE
        self.owner = f"this cluster of Kafka {options.version}"
        self._hosts = hosts
        self._jars = jars
        self._brokers = brokers
        self._ensemble = Ensemble(hosts, options) if options.in_zookeeper else None
        self._nodes = KafkaNodes(hosts, options, jars, self._ensemble)
        self._credentials = Credentials(options.security, brokers) if options.security else None
        if self._credentials is not None:
            self._credentials.install()
        numbered = {host.name: str(node) for node, host in enumerate(brokers, 1)}
        beside = self._ensemble.settings_in_effect if self._ensemble is not None else dict
        reporter = Reporter(numbered, admin, lambda: self._topics.names, beside)
        installed = Installed(hosts, self.answers, self._nodes.start, self._nodes.services)
        operators = operators_of(
            hosts,
            options,
            self._nodes,
            admin,
            answers=self.answers,
            topics=lambda: self._topics.names,
            group=lambda: group(self._namespace),
            credentials=self._credentials,
            ensemble=self._ensemble,
            leave_zookeeper=self._leave_zookeeper,
        )
        tiering = [KafkaTiering(brokers)] if options.tiered_storage else []
        self._holders += [installed, self._nodes, reporter, *tiering, *transaction_looks(options, brokers), *operators]

    def _leave_zookeeper(self) -> None:
        self._ensemble = None

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return all(self._answers(service, host, timeout_s) for service in self._nodes.services(host))

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        if role == OBJECT_STORE:
            return tuple(host.name for host in self._hosts if OBJECT_STORE in self._nodes.services(host))
        if role not in roles.OF_ZOOKEEPER:
            return super().find(role, place)
        if self._ensemble is None:
            raise ServiceError(f"{role}: this cluster has no ZooKeeper; see cluster.metadata")
        return self._ensemble.leader() if role == roles.ZOOKEEPER_LEADER else self._ensemble.names()

    def client_settings(self) -> dict[str, Any]:
        secured = self._credentials.client_settings() if self._credentials else {}
        further = {**own_client(self._options), **(self._tiered() if self._options.tiered_storage else {})}
        return {BOOTSTRAP: self._bootstrap, **secured, NAMESPACE: self._namespace, **further}

    def _tiered(self) -> dict[str, Any]:
        """Return what the final read needs to know of tiered storage."""
        return {BROKERS: self._bootstrap, STORE: server(self._hosts[-1].address)}

    def endpoints(self) -> str:
        """See `chaoskit.contract.systems.service.Endpoints`."""
        return self._bootstrap

    def class_path(self) -> str:
        """See `chaoskit.contract.systems.service.ClassPath`."""
        return f"{self._jars}/*"

    def _states(self, topics: Sequence[str]) -> Mapping[Place, PartitionState]:
        return roles.states(self._brokers, topics)

    def _missing(self) -> str:
        silent = [host for host in self._hosts if not self.answers(host)]
        for host in silent:
            self._nodes.check_alive(host)
        if silent:
            return f"no answer from {', '.join(host.name for host in silent)}"
        if self._ensemble is not None and (missing := self._ensemble.missing()):
            return missing
        return self._topics.missing(len(self._brokers))

    def _answers(self, service: str, host: ServiceHost, timeout_s: float) -> bool:
        if service == ZOOKEEPER:
            return zookeeper_answers(host.address, timeout_s)
        if service == OBJECT_STORE:
            return store.answers(server(host.address), timeout_s)
        port = BROKER_PORT if host in self._brokers else CONTROLLER_PORT
        return answers(host.address, port, timeout_s)

    def _holding(self, role: str, place: Place | None) -> Sequence[int]:
        if role == "controller" and self._ensemble is not None:
            return [self._ensemble.controller()]
        if role == "controller":
            return [roles.controller_node(self._hosts, self._nodes.metadata_dir)]
        if role == "transaction-coordinator":
            return self._coordinating("__transaction_state", self._transactional_id())
        if role == "share-coordinator":
            return self._coordinating("__share_group_state", self._share_key(place))
        return super()._holding(role, place)

    def _transactional_id(self) -> str:
        """Return the transactional id of the first producer of a workload; of an application under test, one that has
        an open transaction, or else has had one."""
        own = coordinated_id(self._namespace)
        latest = roles.transactions(self._brokers)
        if own in latest:
            return own
        return min(latest, key=lambda name: (latest[name].state != "Ongoing", name), default=own)

    def _share_key(self, place: Place | None) -> str:
        """Return the name under which a share group's state of a partition is kept."""
        if place is None or not self.shares:
            raise ServiceError("share-coordinator is a role of a queue; use workload.kind: queue")
        name = group(self._namespace)
        identity = topic_id(self._bootstrap.split(","), name, place[0])
        return f"{name}:{identity}:{place[1]}"
