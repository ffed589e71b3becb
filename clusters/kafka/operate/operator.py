"""Operations on a running Kafka cluster: leadership, reassignment, finishing an upgrade.

librdkafka's admin client is only used for queries.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.operate.tools import PLAN, TIMEOUT_S, KafkaTools, node_id

Assignment = dict[Place, list[int]]
"""The replicas of partitions as node ids; the preferred leader is first."""

_POLL_S = 0.1


def text(partition: Place) -> str:
    """Return how a partition is written: `topic/number`."""
    return f"{partition[0]}/{partition[1]}"


@dataclass(frozen=True, slots=True)
class _Taken:
    """A replica that was taken off a broker.

    Attributes:
        at: its place among the replicas; the first one is the preferred leader.
        instead: the broker that has one instead; None if there is one less.
    """

    at: int
    instead: int | None

    def undone(self, node: int, replicas: Sequence[int]) -> list[int]:
        """Return the replicas with that of the broker again, whatever else happened to them."""
        others = [replica for replica in replicas if replica not in (node, self.instead)]
        return [*others[: self.at], node, *others[self.at :]]


class KafkaOperator:
    """The powers `Leadership` and `Reassignment` of `chaoskit.contract.systems.service`.

    Args:
        brokers: the broker hosts; node ids count from 1.
        admin: an admin client of the cluster.
        tools: the command line tools.
    """

    def __init__(self, brokers: Sequence[ServiceHost], admin: AdminClient, tools: KafkaTools) -> None:
        self._brokers = brokers
        self._admin = admin
        self._tools = tools
        self._taken: dict[str, dict[Place, _Taken]] = {}
        self._alone = threading.RLock()

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        return tuple(map(text, self.partitions_led_by(host)))

    def partitions_led_by(self, host: ServiceHost) -> list[Place]:
        """Return the partitions that a host leads.

        Raises:
            ServiceError: no broker answers.
        """
        return self._led_by(self._node(host))

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Make the host the last preference of all partitions that it leads, and elect preferred leaders."""
        node = self._node(host)
        with self._alone:
            led = self._led_by(node)
            current = self.assignment()
            self._reassign(
                {partition: [*(other for other in current[partition] if other != node), node] for partition in led}
            )
            elections = {"partitions": [{"topic": topic, "partition": number} for topic, number in led]}
            program = "org.apache.kafka.tools.LeaderElectionCommand"
            self._tools.run(program, "--election-type", "preferred", "--path-to-json-file", PLAN, plan=elections)

    def replicas_on(self, host: ServiceHost) -> tuple[str, ...]:
        node = self._node(host)
        return tuple(text(partition) for partition, held in self.assignment().items() if node in held)

    def drain(self, host: ServiceHost) -> None:
        """Move each replica on the host to the broker with the fewest replicas and none of that partition."""
        with self._alone:
            self._drain(host, self._node(host))

    def _drain(self, host: ServiceHost, node: int) -> None:
        current = self.assignment()
        moved = {partition: held for partition, held in current.items() if node in held}
        away = {node, *(self._node(broker) for broker in self._brokers if broker.name in self._taken)}
        load = {other: 0 for other in range(1, len(self._brokers) + 1) if other not in away}
        for replica in (replica for held in current.values() for replica in held if replica in load):
            load[replica] += 1
        instead: dict[Place, int] = {}
        for partition, held in moved.items():
            free = [other for other in load if other not in held]
            if not free:
                raise ServiceError(f"{text(partition)} has a replica on every broker: add one (cluster.hosts)")
            instead[partition] = min(free, key=lambda other: load[other])
            load[instead[partition]] += 1
        self._note(host, moved, instead)
        self._reassign(
            {
                partition: [instead[partition] if replica == node else replica for replica in held]
                for partition, held in moved.items()
            }
        )

    def shed(self, host: ServiceHost) -> None:
        node = self._node(host)
        with self._alone:
            held = {partition: held for partition, held in self.assignment().items() if node in held}
            if alone := [partition for partition, replicas in held.items() if replicas == [node]]:
                raise ServiceError(f"{text(alone[0])} has its only replica on {host.name}")
            self._note(host, held, {})
            self._reassign({name: [other for other in replicas if other != node] for name, replicas in held.items()})

    def _note(self, host: ServiceHost, held: Assignment, instead: Mapping[Place, int]) -> None:
        """Note what is taken off a host, before it is; what it has instead of another one belongs to that one."""
        node, own = self._node(host), dict[Place, _Taken]()
        for partition, replicas in held.items():
            stands_in = [of for of in self._taken.values() if partition in of and of[partition].instead == node]
            place = stands_in[0][partition].at if stands_in else replicas.index(node)
            (stands_in[0] if stands_in else own)[partition] = _Taken(place, instead.get(partition))
        self._taken[host.name] = own

    def refill(self, host: ServiceHost) -> None:
        node = self._node(host)
        with self._alone:
            if host.name in self._taken:
                current = self.assignment()
                wanted = {
                    partition: taken.undone(node, current[partition])
                    for partition, taken in self._taken[host.name].items()
                    if partition in current
                }
                self._reassign(wanted)
                del self._taken[host.name]

    def finish_upgrade(self, version: str) -> str:
        """Finalize the metadata version of the release."""
        self._tools.version = version
        release = ".".join(version.split(".")[:2])
        self._tools.run("org.apache.kafka.tools.FeatureCommand", "upgrade", "--release-version", release)
        listed = self._tools.run("org.apache.kafka.tools.FeatureCommand", "describe")
        levels = [
            line.split("FinalizedVersionLevel:")[1].split()[0]
            for line in listed.splitlines()
            if "metadata.version" in line
        ]
        return f"metadata.version {levels[0]} is finalized" if levels else "no metadata.version is finalized"

    def _node(self, host: ServiceHost) -> int:
        return node_id(self._brokers, host)

    def assignment(self) -> Assignment:
        """Return the replicas of all partitions.

        Raises:
            ServiceError: no broker answers.
        """
        return {partition: list(state.replicas) for partition, state in self._partitions().items()}

    def _led_by(self, node: int) -> list[Place]:
        return [partition for partition, state in self._partitions().items() if state.leader == node]

    def _partitions(self) -> dict[Place, Any]:
        try:
            topics = self._admin.list_topics(timeout=5).topics
        except KafkaException as error:
            raise ServiceError(f"cannot get metadata from Kafka: {error.args[0].str()}") from error
        return {(name, number): state for name, topic in topics.items() for number, state in topic.partitions.items()}

    def _reassign(self, wanted: Mapping[Place, Sequence[int]]) -> None:
        """Reassign partitions and wait until exactly the wanted replicas are in sync."""
        if not wanted:
            return
        moves = [
            {"topic": topic, "partition": number, "replicas": list(replicas)}
            for (topic, number), replicas in wanted.items()
        ]
        self._tools.reassign(moves)
        if pending := wait_while(lambda: self._pending(wanted), TIMEOUT_S, every_s=_POLL_S):
            raise ServiceError(f"the reassignment of {pending} did not finish within {TIMEOUT_S} s")

    def _pending(self, wanted: Mapping[Place, Sequence[int]]) -> str:
        states = self._partitions()
        for partition, replicas in wanted.items():
            state = states[partition]
            if list(state.replicas) != list(replicas) or set(state.isrs) != set(replicas):
                return text(partition)
        return ""
