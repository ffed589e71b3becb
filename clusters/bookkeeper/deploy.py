"""BookKeeper on the hosts of a lab: ZooKeeper, bookies, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import Placed
from chaoskit.contract.workloads.topic import Topic
from clusters.bookkeeper.options import WIRE, BookKeeperOptions
from clusters.bookkeeper.roles import BookKeeperRoles
from clusters.storage.metadata import next_ledger, stored
from clusters.storage.settings import metadata_uri, quorums
from clusters.storage.stack import StorageStack


class BookKeeperCluster(StorageStack[BookKeeperOptions]):
    """A configured BookKeeper cluster; see `chaoskit.contract.systems.service.Service`.

    Ledgers have no names: those of a trial have higher ids than all ledgers that existed when it began.

    Args:
        hosts: see `settings.Roles` for their roles.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: BookKeeperOptions, jars: Path) -> None:
        self.wire = WIRE
        self._client_jars = jars
        self._digest = options.digest
        self._first = 0
        self._topic = ""
        super().__init__("BookKeeper", hosts, options, BookKeeperRoles(hosts, options.place(len(hosts))), jars)

    def begin_trial(self, namespace: str, options: BookKeeperOptions) -> None:
        self._digest = options.digest
        if namespace:
            self._first = next_ledger([host.address for host in self._roles.zookeepers()])

    def create_topic(self, topic: Topic) -> None:
        """Do nothing: writers create ledgers."""
        self._topic = topic.name

    def placements(self) -> list[Placed]:
        servers = [host.address for host in self._roles.zookeepers()]
        return [
            Placed((self._topic, ledger), "", self._roles.named(sorted(addresses)))
            for ledger, addresses in stored(servers, self._first).items()
        ]

    def end_trial(self) -> None:
        """Do nothing: ledgers remain, but the next trial does not read them."""

    def client_settings(self) -> dict[str, Any]:
        persistence = quorums(self._options, len(self._placed.bookies))
        return {
            "metadata_uri": metadata_uri(self._addresses, self._placed),
            "jars": str(self._client_jars),
            "quorums": [persistence.ensemble, persistence.write, persistence.ack],
            "digest": self._digest,
            "first_ledger": self._first,
        }

    def metadata_setup(self, host: ServiceHost) -> list[str]:
        return ["org.apache.bookkeeper.bookie.BookieShell", "-conf", self._file("bookkeeper.conf"), "initnewcluster"]
