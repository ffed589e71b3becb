"""BookKeeper on the hosts of a lab: ZooKeeper, bookies, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaoskit.contract.cluster import TopicSpec
from chaoskit.contract.host import ServiceHost
from clusters.bookkeeper.roles import Roles
from clusters.bookkeeper.settings import BookKeeperOptions, metadata_uri, quorums
from clusters.bookkeeper.stack import StorageStack


class BookKeeperCluster(StorageStack[BookKeeperOptions]):
    """A configured BookKeeper cluster.

    Args:
        hosts: see `settings.Roles` for who gets which role.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: BookKeeperOptions, jars: Path) -> None:
        self._client_jars = jars
        super().__init__("BookKeeper", hosts, options, Roles(hosts, options.place(len(hosts))), jars)

    def create_topic(self, topic: TopicSpec) -> None:
        """Nothing: its writers create ledgers."""

    def client_settings(self) -> dict[str, Any]:
        persistence = quorums(self._options, len(self._placed.bookies))
        return {
            "metadata_uri": metadata_uri(self._addresses, self._placed),
            "jars": str(self._client_jars),
            "quorums": [persistence.ensemble, persistence.write, persistence.ack],
            "digest": self._options.digest,
        }

    def metadata_setup(self, host: ServiceHost) -> list[str]:
        return ["org.apache.bookkeeper.bookie.BookieShell", "-conf", self._file("bookkeeper.conf"), "initnewcluster"]
