"""Operations on a running Kafka cluster: leadership, reassignment, finishing an upgrade.

They use Kafka's own command line tools on one of its hosts; librdkafka's admin client is only used for queries.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.common.java import java
from clusters.kafka import artifacts
from clusters.kafka.settings import BROKER_PORT

Partition = tuple[str, int]
Assignment = dict[Partition, list[int]]
"""The replicas of partitions as node ids; the preferred leader is first."""

_TIMEOUT_S = 60
_POLL_S = 0.1
_PLAN = "PLAN"
"""Placeholder in a tool's arguments for the path of its plan on the host."""


class KafkaOperator:
    """The powers `Leadership` and `Reassignment` of `chaoskit.contract.systems.service`.

    Args:
        brokers: the broker hosts; node ids count from 1.
        admin: an admin client of the cluster.
        version: release whose tools are used.
        answers: whether the broker on a host answers.
    """

    def __init__(
        self,
        brokers: Sequence[ServiceHost],
        admin: AdminClient,
        version: str,
        answers: Callable[[ServiceHost], bool],
    ) -> None:
        self._brokers = brokers
        self._admin = admin
        self._version = version
        self._answers = answers
        self._drained: dict[str, Assignment] = {}
        self._alone = threading.RLock()

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        return tuple(f"{topic}/{number}" for topic, number in self._led_by(self._node(host)))

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Make the host the last preference of all partitions that it leads, and elect preferred leaders."""
        node = self._node(host)
        with self._alone:
            led = self._led_by(node)
            current = self._assignment()
            self._reassign(
                {partition: [*(other for other in current[partition] if other != node), node] for partition in led}
            )
            elections = {"partitions": [{"topic": topic, "partition": number} for topic, number in led]}
            program = "org.apache.kafka.tools.LeaderElectionCommand"
            self._tool(program, "--election-type", "preferred", "--path-to-json-file", _PLAN, plan=elections)

    def replicas_on(self, host: ServiceHost) -> tuple[str, ...]:
        node = self._node(host)
        return tuple(f"{topic}/{number}" for (topic, number), held in self._assignment().items() if node in held)

    def drain(self, host: ServiceHost) -> None:
        """Move each replica on the host to the broker with the fewest replicas and none of that partition."""
        with self._alone:
            self._drain(host, self._node(host))

    def _drain(self, host: ServiceHost, node: int) -> None:
        current = self._assignment()
        moved = {partition: held for partition, held in current.items() if node in held}
        away = {node, *(self._node(broker) for broker in self._brokers if broker.name in self._drained)}
        load = {other: 0 for other in range(1, len(self._brokers) + 1) if other not in away}
        for replica in (replica for held in current.values() for replica in held if replica in load):
            load[replica] += 1
        wanted = {}
        for partition, held in moved.items():
            free = [other for other in load if other not in held]
            if not free:
                raise ServiceError(
                    f"{partition[0]}/{partition[1]} has a replica on every broker: add one (cluster.hosts)"
                )
            chosen = min(free, key=lambda other: load[other])
            load[chosen] += 1
            wanted[partition] = [chosen if replica == node else replica for replica in held]
        self._drained[host.name] = moved
        self._reassign(wanted)

    def refill(self, host: ServiceHost) -> None:
        with self._alone:
            if host.name in self._drained:
                self._reassign(self._drained[host.name])
                del self._drained[host.name]

    def finish_upgrade(self, version: str) -> str:
        """Finalize the metadata version of the release."""
        self._version = version
        release = ".".join(version.split(".")[:2])
        self._tool("org.apache.kafka.tools.FeatureCommand", "upgrade", "--release-version", release)
        listed = self._tool("org.apache.kafka.tools.FeatureCommand", "describe")
        levels = [
            line.split("FinalizedVersionLevel:")[1].split()[0]
            for line in listed.splitlines()
            if "metadata.version" in line
        ]
        return f"metadata.version {levels[0]} is finalized" if levels else "no metadata.version is finalized"

    def _node(self, host: ServiceHost) -> int:
        """Return the id of the broker on a host; 0 if there is none, as on a controller-only host."""
        return list(self._brokers).index(host) + 1 if host in self._brokers else 0

    def _assignment(self) -> Assignment:
        return {partition: list(state.replicas) for partition, state in self._partitions().items()}

    def _led_by(self, node: int) -> list[Partition]:
        return [partition for partition, state in self._partitions().items() if state.leader == node]

    def _partitions(self) -> dict[Partition, Any]:
        try:
            topics = self._admin.list_topics(timeout=5).topics
        except KafkaException as error:
            raise ServiceError(f"cannot get metadata from Kafka: {error.args[0].str()}") from error
        return {(name, number): state for name, topic in topics.items() for number, state in topic.partitions.items()}

    def _reassign(self, wanted: Mapping[Partition, Sequence[int]]) -> None:
        """Reassign partitions and wait until exactly the wanted replicas are in sync."""
        if not wanted:
            return
        moves = [
            {"topic": topic, "partition": number, "replicas": list(replicas)}
            for (topic, number), replicas in wanted.items()
        ]
        command = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        plan = {"version": 1, "partitions": moves}
        self._tool(command, "--reassignment-json-file", _PLAN, "--execute", "--additional", plan=plan)
        if pending := wait_while(lambda: self._pending(wanted), _TIMEOUT_S, every_s=_POLL_S):
            raise ServiceError(f"the reassignment of {pending} did not finish within {_TIMEOUT_S} s")

    def _pending(self, wanted: Mapping[Partition, Sequence[int]]) -> str:
        states = self._partitions()
        for (topic, number), replicas in wanted.items():
            state = states[topic, number]
            if list(state.replicas) != list(replicas) or set(state.isrs) != set(replicas):
                return f"{topic}/{number}"
        return ""

    def _tool(self, program: str, *arguments: str, plan: Mapping[str, object] | None = None) -> str:
        """Run a command line tool on a host whose broker answers; return its output.

        Raises:
            ServiceError: no broker answers, or the tool failed.
        """
        if not artifacts.has_tools(self._version):
            raise ServiceError(f"Kafka {self._version} does not have the required command line tools; use 4.0 or later")
        host = next((host for host in self._brokers if self._answers(host)), None)
        if host is None:
            raise ServiceError("no broker answers")
        path = f"/run/chaoskit-plan-{uuid.uuid4().hex}.json"
        if plan is not None:
            host.put(json.dumps(plan).encode(), path)
            arguments = tuple(path if argument == _PLAN else argument for argument in arguments)
        jars = host.install(artifacts.fetch_tools(self._version))
        connect = ["--bootstrap-server", f"{host.address}:{BROKER_PORT}"]
        done = host.run([*java(f"{jars}/*"), program, *connect, *arguments], timeout_s=_TIMEOUT_S, check=False)
        if done.status != 0:
            raise ServiceError(f"{program.rpartition('.')[2]} failed: {(done.out + done.err).strip()[-500:]}")
        return done.out
