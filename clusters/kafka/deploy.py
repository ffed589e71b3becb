"""Kafka on the hosts of a lab: install, configure, format, start, and ask who holds which role."""

from __future__ import annotations

import base64
import re
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from chaoskit.base.errors import BadInput
from chaoskit.contract.cluster import ClusterError, TopicSpec
from chaoskit.contract.host import ServiceHost, ServiceState
from clusters.java import java
from clusters.kafka import artifacts, roles, settings
from clusters.kafka.operator import Operator
from clusters.kafka.probe import answers
from clusters.kafka.settings import BROKER_PORT, CONTROLLER_PORT, KafkaOptions

SERVICE = "kafka"
_FOLDER = "/etc/kafka"
PROPERTIES = f"{_FOLDER}/server.properties"
_COORDINATED_GROUP = "chaoskit"
_COORDINATED_ID = "chaoskit-0"
_POLL_S = 0.05
_CREATE_TIMEOUT_S = 30


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
        self._cluster_id = self._given_id() or cluster_id()
        self._jars: dict[str, str] = {}
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
        operator = Operator(self._brokers, self._admin, options.version, java, self.answers)
        self.led_by, self.give_up_leadership = operator.led_by, operator.give_up_leadership
        self.replicas_on, self.drain, self.refill = operator.replicas_on, operator.drain, operator.refill
        self.finish_upgrade = operator.finish_upgrade

    def start(self, host: ServiceHost) -> None:
        if host.state(SERVICE) is not ServiceState.GONE:
            return
        if host.run(["test", "-e", f"{self._log_folder(host)}/meta.properties"], check=False).status != 0:
            self._format(host)
        options = self._options
        logging = [
            f"-Dlog4j2.configurationFile={_FOLDER}/log4j2.properties",
            f"-Dlog4j.configuration=file:{_FOLDER}/log4j.properties",
        ]
        argv = [*self._java(host), f"-Xms{options.heap}", f"-Xmx{options.heap}", *options.jvm, *logging]
        host.spawn(SERVICE, [*argv, "kafka.Kafka", PROPERTIES], {})

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

    def release_of(self, host: ServiceHost) -> str:
        script = "tr '\\0' '\\n' < /proc/$(pgrep -o -f kafka.Kafka)/cmdline"
        running = re.search(r"/kafka-([0-9.]+)/", host.run(["sh", "-c", script]).out)
        if running is None:
            raise ClusterError(f"no Kafka runs on {host.name}")
        return running[1]

    def install_release(self, host: ServiceHost, version: str) -> None:
        self._jars[host.name] = host.install(artifacts.fetch(version))

    def files(self, host: ServiceHost, what: str, topic: str, partition: int) -> list[str]:
        pattern = settings.DATA_FILES.get(what)
        if pattern is None:
            raise ClusterError(f"Kafka has no files called {what!r}; there are {', '.join(settings.DATA_FILES)}")
        place = f"{self._log_folder(host)}/{pattern.format(topic=topic, partition=partition)}"
        listed = host.run(["sh", "-c", "ls -tr $1 2>/dev/null", "list", place], check=False)
        return listed.out.split()

    def find(self, role: str, topic: str, partition: int) -> tuple[str, ...]:
        return tuple(self.hosts[node - 1].name for node in self._nodes(role, topic, partition))

    def create_topic(self, topic: TopicSpec) -> None:
        config = {key: settings.text(value) for key, value in self._options.topic.items() if value is not None}
        new = NewTopic(topic.name, topic.partitions, topic.replication, config=config)
        deadline = time.monotonic() + _CREATE_TIMEOUT_S
        while error := self._create(new):
            if error.code() in (KafkaError.INVALID_CONFIG, KafkaError.INVALID_REPLICATION_FACTOR):
                raise BadInput(f"cluster.topic: Kafka refused topic {topic.name}: {error.str()}")
            if time.monotonic() > deadline:
                raise ClusterError(f"topic {topic.name} could not be created: {error.str()}")
            time.sleep(_POLL_S)
        self._topics.append(topic.name)
        self.wait_ready(20)

    def _create(self, topic: NewTopic) -> KafkaError | None:
        """Create a topic; return the error if it is not known to exist."""
        try:
            self._admin.create_topics([topic], operation_timeout=20, request_timeout=25)[topic.topic].result()
        except KafkaException as error:
            refusal: KafkaError = error.args[0]
            return None if refusal.code() == KafkaError.TOPIC_ALREADY_EXISTS else refusal
        return None

    def client_settings(self) -> dict[str, Any]:
        return {"bootstrap.servers": ",".join(f"{host.address}:{BROKER_PORT}" for host in self._brokers)}

    def close(self) -> None:
        self._admin.poll(0)

    def _install(self, index: int, jars: Path) -> None:
        host = self.hosts[index]
        addresses = [host.address for host in self.hosts]
        self._jars[host.name] = host.install(jars)
        properties = settings.server_properties(self._options, addresses, index, host.data_dir)
        host.put(properties.encode(), PROPERTIES)
        for name, content in settings.LOGGING.items():
            host.put(content.encode(), f"{_FOLDER}/{name}")
        self._format(host)

    def _format(self, host: ServiceHost) -> None:
        """Format the log folder; nothing if it is formatted already.

        Raises:
            BadInput: Kafka refuses the configuration.
        """
        host.run(["mkdir", "-p", self._log_folder(host)])
        tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", self._cluster_id, "-c", PROPERTIES]
        done = host.run([*self._java(host), *tool], timeout_s=60, check=False)
        if done.status != 0:
            refusals = [
                line.partition("ConfigException: ")[2] for line in done.err.splitlines() if "Exception: " in line
            ]
            raise BadInput(f"cluster.config: Kafka refuses it: {refusals[0] if refusals else done.err or done.out}")

    def _given_id(self) -> str:
        """Return the cluster id of disks that were formatted before; empty without any."""
        for host in self.hosts:
            found = host.run(
                ["sed", "-n", "s/^cluster.id=//p", f"{self._log_folder(host)}/meta.properties"], check=False
            )
            if found.out.strip():
                return found.out.strip()
        return ""

    def _log_folder(self, host: ServiceHost) -> str:
        return f"{host.data_dir}/{settings.DATA_FOLDER}"

    def _java(self, host: ServiceHost) -> list[str]:
        return java(f"{self._jars[host.name]}/*")

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
        if role == "transaction-coordinator":
            name = "transaction.state.log.num.partitions"
            count = int(settings.setting(self._options.config, name, settings.DEFAULTS[name]))
            topic, partition = "__transaction_state", roles.transaction_partition(_COORDINATED_ID, count)
            role = "leader"
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
