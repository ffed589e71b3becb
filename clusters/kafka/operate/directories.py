"""Moves of replicas between the log directories of a broker (JBOD), by `kafka-reassign-partitions`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.operate.operator import Assignment, text
from clusters.kafka.operate.tools import TIMEOUT_S, KafkaTools, node_id


class KafkaDirectories:
    """The power `LogDirectories` of `chaoskit.contract.systems.operating`.

    Args:
        brokers: the broker hosts; node ids count from 1.
        tools: the command line tools.
        assignment: returns the replicas of all partitions.
        log_dirs: returns the log directories of a host.
    """

    def __init__(
        self,
        brokers: Sequence[ServiceHost],
        tools: KafkaTools,
        assignment: Callable[[], Assignment],
        log_dirs: Callable[[ServiceHost], list[str]],
    ) -> None:
        self._brokers = brokers
        self._tools = tools
        self._assignment = assignment
        self._log_dirs = log_dirs

    def directories_on(self, host: ServiceHost) -> dict[str, str]:
        return {text(partition): directory for partition, directory in self._stored(host).items()}

    def move_between_directories(self, host: ServiceHost) -> None:
        folders, node = self._log_dirs(host), node_id(self._brokers, host)
        wanted = {
            partition: folders[(folders.index(directory) + 1) % len(folders)]
            for partition, directory in self._stored(host).items()
        }
        assignment = self._assignment()
        moves = [
            {
                "topic": partition[0],
                "partition": partition[1],
                "replicas": (replicas := assignment[partition]),
                "log_dirs": [directory if replica == node else "any" for replica in replicas],
            }
            for partition, directory in wanted.items()
        ]
        self._tools.reassign(moves)

        def pending() -> str:
            stored = self._stored(host)
            return ", ".join(text(partition) for partition in wanted if stored.get(partition) != wanted[partition])

        if left := wait_while(pending, TIMEOUT_S):
            raise ServiceError(f"{left} did not move to other log directories of {host.name} within {TIMEOUT_S} s")

    def _stored(self, host: ServiceHost) -> dict[Place, str]:
        """Return the log directory of each replica on a host; of one that moves, where it comes from."""
        if not (node := node_id(self._brokers, host)):
            return {}
        printed = self._tools.run("org.apache.kafka.tools.LogDirsCommand", "--describe", "--broker-list", str(node))
        described: dict[str, Any] = json.loads(printed[printed.index("{") :])
        return {
            (topic, int(number)): directory["logDir"]
            for broker in described["brokers"]
            for directory in broker["logDirs"]
            for replica in directory["partitions"]
            if not replica["isFuture"]
            for topic, _, number in (replica["partition"].rpartition("-"),)
        }
