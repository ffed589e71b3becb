"""Which controllers vote on the metadata (KIP-853), by `kafka-metadata-quorum`.

A voter is a controller with its disk: one whose disk was replaced votes no more, although its node id is still listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.deploy.nodes import PROPERTIES
from clusters.kafka.operate.tools import TIMEOUT_S, KafkaTools, node_id

_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
_VOTERS = "CurrentVoters:"


class KafkaVoters:
    """The power `Voting` of `chaoskit.contract.systems.operating`.

    Args:
        hosts: all hosts of the cluster; node ids count from 1.
        tools: the command line tools.
        disk_of: returns the id of the disk with a host's metadata log; empty if it cannot be read.
    """

    def __init__(self, hosts: Sequence[ServiceHost], tools: KafkaTools, disk_of: Callable[[ServiceHost], str]) -> None:
        self._hosts = hosts
        self._tools = tools
        self._disk_of = disk_of

    def voters(self) -> tuple[str, ...]:
        voters = [(self._hosts[voter["id"] - 1], voter["directoryId"]) for voter in self._voters()]
        return tuple(host.name for host, disk in voters if self._disk_of(host) in (disk, ""))

    def remove_voter(self, host: ServiceHost) -> None:
        node = node_id(self._hosts, host)
        disks = [str(voter["directoryId"]) for voter in self._voters() if voter["id"] == node]
        if not disks:
            raise ServiceError(f"{host.name} does not vote: it has no controller, or was removed before")
        for disk in disks:
            named = ["--controller-id", str(node), "--controller-directory-id", disk]
            self._tools.run(_QUORUM, "remove-controller", *named)

    def add_voter(self, host: ServiceHost) -> None:
        def refused() -> str:
            """Try once: until it has the metadata that the others have, they do not take it."""
            if host.name in self.voters():
                return ""
            try:
                self._tools.run(_QUORUM, "--command-config", PROPERTIES, "add-controller", on=host)
            except ServiceError as error:
                return str(error)
            return ""

        listed = [voter["id"] for voter in self._voters()]
        if node_id(self._hosts, host) in listed and host.name not in self.voters():
            self.remove_voter(host)  # the disk that it had before
        if why := wait_while(refused, TIMEOUT_S):
            raise ServiceError(f"{host.name} did not become a voter within {TIMEOUT_S} s: {why}")

    def _voters(self) -> list[dict[str, Any]]:
        printed = self._tools.run(_QUORUM, "describe", "--status")
        lines = [line for line in printed.splitlines() if line.startswith(_VOTERS)]
        if not lines:
            raise ServiceError(f"kafka-metadata-quorum does not tell who votes: {printed.strip()[-200:]}")
        voters: list[dict[str, Any]] = json.loads(lines[0].removeprefix(_VOTERS))
        return voters
