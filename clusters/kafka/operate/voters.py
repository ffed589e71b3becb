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

_Voter = dict[str, Any]
"""As the tool lists it: `id`, of the node, and `directoryId`, of the disk."""


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
        return self._voting(self._listed())

    def remove_voter(self, host: ServiceHost) -> None:
        if not (listed := self._of(host, self._listed())):
            raise ServiceError(f"{host.name} does not vote: it has no controller, or was removed before")
        self._remove(listed)

    def add_voter(self, host: ServiceHost) -> None:
        def refused() -> str:
            """Try once: until it has the metadata that the others have, they do not take it."""
            listed = self._listed()
            if host.name in self._voting(listed):
                return ""
            self._remove(self._of(host, listed))  # the disk that it had before
            try:
                self._tools.run(_QUORUM, "--command-config", PROPERTIES, "add-controller", on=host)
            except ServiceError as error:
                return str(error)
            return ""

        if why := wait_while(refused, TIMEOUT_S):
            raise ServiceError(f"{host.name} did not become a voter within {TIMEOUT_S} s: {why}")

    def _voting(self, listed: Sequence[_Voter]) -> tuple[str, ...]:
        """Return the hosts that vote with the disk that they have now."""
        voters = [(self._hosts[voter["id"] - 1], voter["directoryId"]) for voter in listed]
        return tuple(host.name for host, disk in voters if self._disk_of(host) in (disk, ""))

    def _of(self, host: ServiceHost, listed: Sequence[_Voter]) -> list[_Voter]:
        return [voter for voter in listed if voter["id"] == node_id(self._hosts, host)]

    def _remove(self, listed: Sequence[_Voter]) -> None:
        for voter in listed:
            named = ["--controller-id", str(voter["id"]), "--controller-directory-id", str(voter["directoryId"])]
            self._tools.run(_QUORUM, "remove-controller", *named)

    def _listed(self) -> list[_Voter]:
        printed = self._tools.run(_QUORUM, "describe", "--status")
        lines = [line for line in printed.splitlines() if line.startswith(_VOTERS)]
        if not lines:
            raise ServiceError(f"kafka-metadata-quorum does not tell who votes: {printed.strip()[-200:]}")
        voters: list[_Voter] = json.loads(lines[0].removeprefix(_VOTERS))
        return voters
