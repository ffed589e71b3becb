"""Which controllers vote on the metadata (KIP-853), by `kafka-metadata-quorum`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.deploy.nodes import PROPERTIES
from clusters.kafka.operate.tools import TIMEOUT_S, KafkaTools

_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
_VOTERS = "CurrentVoters:"


class KafkaVoters:
    """The power `Voting` of `chaoskit.contract.systems.operating`.

    Args:
        hosts: all hosts of the cluster; node ids count from 1.
        tools: the command line tools.
    """

    def __init__(self, hosts: Sequence[ServiceHost], tools: KafkaTools) -> None:
        self._hosts = hosts
        self._tools = tools

    def voters(self) -> tuple[str, ...]:
        return tuple(self._hosts[voter["id"] - 1].name for voter in self._voters())

    def remove_voter(self, host: ServiceHost) -> None:
        node = list(self._hosts).index(host) + 1
        disks = [str(voter["directoryId"]) for voter in self._voters() if voter["id"] == node]
        if not disks:
            raise ServiceError(f"{host.name} does not vote: it has no controller, or was removed before")
        named = ["--controller-id", str(node), "--controller-directory-id", disks[0]]
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

        if why := wait_while(refused, TIMEOUT_S):
            raise ServiceError(f"{host.name} did not become a voter within {TIMEOUT_S} s: {why}")

    def _voters(self) -> list[dict[str, Any]]:
        printed = self._tools.run(_QUORUM, "describe", "--status")
        lines = [line for line in printed.splitlines() if line.startswith(_VOTERS)]
        if not lines:
            raise ServiceError(f"kafka-metadata-quorum does not tell who votes: {printed.strip()[-200:]}")
        voters: list[dict[str, Any]] = json.loads(lines[0].removeprefix(_VOTERS))
        return voters
