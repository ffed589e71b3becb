"""Kafka on the hosts of a lab: install, configure, format, start, and ask who holds which role."""

from __future__ import annotations

import base64
import shutil
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from chaoskit.cluster import ClusterError, TopicSpec
from chaoskit.errors import BadInput
from chaoskit.host import ServiceHost, ServiceState
from clusters.kafka import roles, settings
from clusters.kafka.probe import answers
from clusters.kafka.settings import BROKER_PORT, CONTROLLER_PORT, KafkaOptions

SERVICE = "kafka"
_FOLDER = "/etc/kafka"
_COORDINATED_GROUP = "chaoskit"
_POLL_S = 0.05


class KafkaCluster:
    """A formatted Kafka cluster.

    Args:
        hosts: brokers first, then hosts that are controllers only.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: KafkaOptions, jars: Path) -> None:
        self.hosts = hosts
        self._options = options
        self._brokers = hosts[: settings.broker_count(options, len(hosts))]
        self._topics: list[str] = []
        self._cluster_id = cluster_id()
        with ThreadPoolExecutor(len(hosts)) as pool:
            list(pool.map(lambda index: self._install(index, jars), range(len(hosts))))
        self._admin = AdminClient(
            {
                "bootstrap.servers": self.client_settings()["bootstrap.servers"],
                "topic.metadata.refresh.interval.ms": -1,
                "log_level": 0,
            },
            logger=None,
        )

    def start(self, host: ServiceHost) -> None:
        if host.state(SERVICE) is not ServiceState.GONE:
            return
        options = self._options
        logging = [
            f"-Dlog4j2.configurationFile={_FOLDER}/log4j2.properties",
            f"-Dlog4j.configuration=file:{_FOLDER}/log4j.properties",
        ]
        argv = [*self._java(), f"-Xms{options.heap}", f"-Xmx{options.heap}", *options.jvm, *logging]
        host.spawn(SERVICE, [*argv, "kafka.Kafka", f"{_FOLDER}/server.properties"], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return (SERVICE,)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        port = BROKER_PORT if host in self._brokers else CONTROLLER_PORT
        return answers(host.address, port, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while missing := self._missing():
            if time.monotonic() > deadline:
                raise ClusterError(f"Kafka was not ready within {timeout_s:g} s: {missing}")
            time.sleep(_POLL_S)

    def find(self, role: str, topic: str, partition: int) -> tuple[str, ...]:
        return tuple(self.hosts[node - 1].name for node in self._nodes(role, topic, partition))

    def create_topic(self, topic: TopicSpec) -> None:
        config = {key: settings.text(value) for key, value in self._options.topic.items() if value is not None}
        new = NewTopic(topic.name, topic.partitions, topic.replication, config=config)
        try:
            self._admin.create_topics([new], operation_timeout=20, request_timeout=25)[topic.name].result()
        except KafkaException as error:
            refused = error.args[0].code() in (
                KafkaError.INVALID_CONFIG,
                KafkaError.INVALID_REPLICATION_FACTOR,
            )
            kind = BadInput if refused else ClusterError
            raise kind(f"cluster.topic: Kafka refused topic {topic.name}: {error.args[0].str()}") from error
        self._topics.append(topic.name)
        self.wait_ready(20)

    def client_settings(self) -> dict[str, Any]:
        return {"bootstrap.servers": ",".join(f"{host.address}:{BROKER_PORT}" for host in self._brokers)}

    def close(self) -> None:
        self._admin.poll(0)

    def _install(self, index: int, jars: Path) -> None:
        host = self.hosts[index]
        addresses = [host.address for host in self.hosts]
        self._classpath = f"{host.install(jars)}/*"
        properties = settings.server_properties(self._options, addresses, index, host.data_dir)
        host.put(properties.encode(), f"{_FOLDER}/server.properties")
        for name, content in settings.LOGGING.items():
            host.put(content.encode(), f"{_FOLDER}/{name}")
        log_folder = f"{host.data_dir}/{settings.DATA_FOLDER}"
        host.run(["mkdir", "-p", log_folder])
        format_argv = [
            "kafka.tools.StorageTool",
            "format",
            "-t",
            self._cluster_id,
            "-c",
            f"{_FOLDER}/server.properties",
        ]
        done = host.run([*self._java(), *format_argv], timeout_s=60, check=False)
        if done.status != 0:
            refusals = [
                line.partition("ConfigException: ")[2] for line in done.err.splitlines() if "Exception: " in line
            ]
            raise BadInput(f"cluster.config: Kafka refuses it: {refusals[0] if refusals else done.err or done.out}")

    def _java(self) -> list[str]:
        return [
            shutil.which("java") or "java",
            "-cp",
            self._classpath,
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
        ]

    def _missing(self) -> str:
        """Say what keeps the cluster from being ready; empty when it is."""
        silent = [host for host in self.hosts if not self.answers(host)]
        for host in silent:
            self._check_alive(host)
        if silent:
            return f"no answer from {', '.join(host.name for host in silent)}"
        try:
            metadata = self._admin.list_topics(timeout=2)
        except KafkaException as error:
            return f"no metadata ({error.args[0].name()})"
        if len(metadata.brokers) < len(self._brokers):
            return f"{len(metadata.brokers)} of {len(self._brokers)} brokers registered"
        for topic in self._topics:
            if topic not in metadata.topics:
                return f"topic {topic} is not known"
            for partition, state in metadata.topics[topic].partitions.items():
                if state.leader < 0 or set(state.isrs) != set(state.replicas):
                    return f"{topic}/{partition} has in-sync replicas {sorted(state.isrs)} of {sorted(state.replicas)}"
        return ""

    def _check_alive(self, host: ServiceHost) -> None:
        """Raise if Kafka ended by itself: waiting longer would not help.

        Raises:
            ClusterError: with its last errors.
        """
        if host.state(SERVICE) is ServiceState.GONE:
            argv = ["grep", "-E", "ERROR|FATAL|Exception|Error:|Unrecognized", host.log_path(SERVICE)]
            errors = host.run(argv, check=False).out.strip().splitlines()
            raise ClusterError(f"Kafka on {host.name} ended by itself:\n" + "\n".join(errors[-3:]))

    def _nodes(self, role: str, topic: str, partition: int) -> list[int]:
        if role == "controller":
            return [roles.controller_node(self.hosts)]
        if role == "coordinator":
            return [roles.coordinator_node(self._admin, _COORDINATED_GROUP)]
        state = roles.partition_state(self._brokers, topic, partition)
        if state.leader < 0:
            raise ClusterError(f"{topic}/{partition} has no leader now")
        followers = [node for node in state.replicas if node != state.leader]
        return {"leader": [state.leader], "isr": list(state.isr), "followers": followers, "follower": followers}[role]


def cluster_id() -> str:
    """Return a new cluster id: 16 bytes in URL-safe Base64, without a leading dash, which `kafka-storage`
    would take for an option (Kafka's own `Uuid.randomUuid` refuses those as well)."""
    while (drawn := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return drawn
