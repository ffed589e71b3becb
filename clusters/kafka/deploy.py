"""A Kafka cluster: its topics, its roles, and whether it is ready."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_while
from chaoskit.contract.cluster import ClusterError, Placed
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.topic import Topic
from chaoskit.history.audits import Place
from clusters.common.properties import setting, text
from clusters.kafka import roles, settings
from clusters.kafka.connection import BOOTSTRAP, NAMESPACE, coordinated_id, group
from clusters.kafka.effective import Reporter
from clusters.kafka.nodes import Nodes
from clusters.kafka.operator import Operator, has_tools
from clusters.kafka.probe import answers
from clusters.kafka.settings import BROKER_PORT, CONTROLLER_PORT, KafkaOptions
from clusters.kafka.upgrade import Upgrader

_CREATE_TIMEOUT_S = 30
_IN_SYNC_S = 20
_INTERNAL = ("__consumer_offsets", "__transaction_state")
"""Topics of the coordinators: until all their replicas are in sync, groups and transactions are not whole."""

_REFUSED_FOR_GOOD = (KafkaError.INVALID_CONFIG, KafkaError.INVALID_REPLICATION_FACTOR)


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
        self._topics: list[str] = []
        self._nodes = Nodes(hosts, options, jars)
        self._bootstrap = ",".join(f"{host.address}:{BROKER_PORT}" for host in self._brokers)
        quiet = {"topic.metadata.refresh.interval.ms": -1, "log_level": 0}
        self._admin = AdminClient({BOOTSTRAP: self._bootstrap, **quiet}, logger=None)
        operator = Operator(self._brokers, self._admin, options.version, self.answers)
        by_tools = [operator] if has_tools(options.version) else []
        reporter = Reporter(self._brokers, self._admin, lambda: self._topics)
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
            for place, state in roles.states(self._brokers, self._topics).items()
        ]

    def begin_trial(self, namespace: str, options: KafkaOptions) -> None:
        self._namespace = namespace
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        config = {key: text(value) for key, value in self._options.topic.items() if value is not None}
        new = NewTopic(topic.name, topic.partitions or 1, topic.replication, config=config)
        if error := wait_while(lambda: self._create(new), _CREATE_TIMEOUT_S):
            raise ClusterError(f"topic {topic.name} could not be created: {error.str()}")
        self._topics.append(topic.name)
        self.wait_ready(_IN_SYNC_S)

    def client_settings(self) -> dict[str, Any]:
        return {BOOTSTRAP: self._bootstrap, NAMESPACE: self._namespace}

    def end_trial(self) -> None:
        if not self._topics:
            return
        topics, self._topics = self._topics, []
        for name, done in self._admin.delete_topics(topics, operation_timeout=_CREATE_TIMEOUT_S).items():
            try:
                done.result()
            except KafkaException as error:
                raise ClusterError(f"topic {name} could not be deleted: {error.args[0].str()}") from error

    def close(self) -> None:
        self._admin.poll(0)

    def _create(self, topic: NewTopic) -> KafkaError | None:
        """Create a topic; return the error if it is not known to exist.

        Raises:
            BadInput: Kafka will never create it.
        """
        try:
            self._admin.create_topics([topic], operation_timeout=20, request_timeout=25)[topic.topic].result()
        except KafkaException as error:
            refusal: KafkaError = error.args[0]
            if refusal.code() in _REFUSED_FOR_GOOD:
                raise BadInput(f"cluster.topic: Kafka rejected topic {topic.topic}: {refusal.str()}") from error
            return None if refusal.code() == KafkaError.TOPIC_ALREADY_EXISTS else refusal
        return None

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        silent = [host for host in self.hosts if not self.answers(host)]
        for host in silent:
            self._nodes.check_alive(host)
        if silent:
            return f"no answer from {', '.join(host.name for host in silent)}"
        try:
            metadata = self._admin.list_topics(timeout=2)
        except KafkaException as error:
            return f"no metadata ({error.args[0].name()})"
        if len(metadata.brokers) < len(self._brokers):
            return f"{len(metadata.brokers)} of {len(self._brokers)} brokers registered"
        if unknown := [topic for topic in self._topics if topic not in metadata.topics]:
            return f"topic {unknown[0]} is unknown"
        for topic in (*self._topics, *(name for name in _INTERNAL if name in metadata.topics)):
            for partition, state in metadata.topics[topic].partitions.items():
                if state.leader < 0 or set(state.isrs) != set(state.replicas):
                    return f"{topic}/{partition} has in-sync replicas {sorted(state.isrs)} of {sorted(state.replicas)}"
        return ""

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
