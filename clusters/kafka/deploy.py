"""A Kafka cluster: its topics, its roles, and whether it is ready."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from chaoskit.base.waiting import wait_while
from chaoskit.contract.cluster import ClusterError, Placed
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.topic import Topic
from chaoskit.contract.vocabulary import Place
from clusters.common.properties import setting
from clusters.kafka import roles, settings
from clusters.kafka.connection import BOOTSTRAP, NAMESPACE, coordinated_id, group
from clusters.kafka.effective import Reporter
from clusters.kafka.java.settings import own_client
from clusters.kafka.nodes import Nodes
from clusters.kafka.operator import Operator, has_tools
from clusters.kafka.probe import answers
from clusters.kafka.security import Credentials
from clusters.kafka.settings import BROKER_PORT, CONTROLLER_PORT, KafkaOptions
from clusters.kafka.topics import Topics
from clusters.kafka.upgrade import Upgrader

_IN_SYNC_S = 20


class KafkaCluster:
    """A formatted Kafka cluster; see `chaoskit.contract.cluster.Cluster`.

    Args:
        hosts: brokers first, then controller-only hosts.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: KafkaOptions, jars: Path) -> None:
        self.hosts = hosts
        self._options = options
        self._brokers = hosts[: settings.broker_count(options, len(hosts))]
        self._namespace = ""
        self._nodes = Nodes(hosts, options, jars)
        self._credentials = Credentials(options.security, self._brokers) if options.security else None
        if self._credentials is not None:
            self._credentials.install()
        self._bootstrap = ",".join(f"{host.address}:{BROKER_PORT}" for host in self._brokers)
        quiet = {"topic.metadata.refresh.interval.ms": -1, "log_level": 0}
        self._admin = AdminClient({BOOTSTRAP: self._bootstrap, **quiet}, logger=None)
        self._topics = Topics(self._admin)
        operator = Operator(self._brokers, self._admin, options.version, self.answers)
        by_tools = [operator] if has_tools(options.version) else []
        numbered = {host.name: str(node) for node, host in enumerate(self._brokers, 1)}
        reporter = Reporter(numbered, self._admin, lambda: self._topics.names)
        self._holders = [self._nodes, Upgrader(self._nodes, operator), reporter, *by_tools]

    def power(self, kind: type[P]) -> P:
        return held(kind, self._holders, f"this cluster of Kafka {self._options.version}")

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        port = BROKER_PORT if host in self._brokers else CONTROLLER_PORT
        return answers(host.address, port, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        if missing := wait_while(self._missing, timeout_s):
            raise ClusterError(f"Kafka was not ready within {timeout_s:g} s: {missing}")

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return tuple(self.hosts[node - 1].name for node in self._holding(role, place))

    def placements(self) -> list[Placed]:
        def name(node: int) -> str:
            return self.hosts[node - 1].name

        return [
            Placed(place, name(state.leader) if state.leader > 0 else "", tuple(map(name, state.replicas)))
            for place, state in roles.states(self._brokers, self._topics.names).items()
        ]

    def begin_trial(self, namespace: str, options: KafkaOptions) -> None:
        self._namespace = namespace
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        self._topics.create(topic, self._options.topic)
        self.wait_ready(_IN_SYNC_S)

    def client_settings(self) -> dict[str, Any]:
        secured = self._credentials.client_settings() if self._credentials else {}
        return {BOOTSTRAP: self._bootstrap, **secured, NAMESPACE: self._namespace, **own_client(self._options)}

    def end_trial(self) -> None:
        self._topics.delete()

    def close(self) -> None:
        self._admin.poll(0)

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        silent = [host for host in self.hosts if not self.answers(host)]
        for host in silent:
            self._nodes.check_alive(host)
        if silent:
            return f"no answer from {', '.join(host.name for host in silent)}"
        return self._topics.missing(len(self._brokers))

    def _holding(self, role: str, place: Place | None) -> Sequence[int]:
        """Return the ids of the nodes that hold a role."""
        if role == "controller":
            return [roles.controller_node(self.hosts, self._nodes.metadata_dir)]
        if role == "coordinator":
            return [roles.coordinator_node(self._admin, group(self._namespace))]
        if role == "transaction-coordinator":
            name = "transaction.state.log.num.partitions"
            count = int(setting(self._options.config, name, settings.DEFAULTS[name]))
            own = roles.transaction_partition(coordinated_id(self._namespace), count)
            return roles.of_partition(self._brokers, ("__transaction_state", own), "leader")
        if place is None:
            raise ClusterError(f"{role} is a role of a partition, but the workload has no partitions")
        return roles.of_partition(self._brokers, place, role)
