"""The current holders of roles in a BookKeeper cluster."""

from __future__ import annotations

from chaoskit.model.place import Place
from clusters.storage import metadata
from clusters.storage.roles import StorageRoles
from clusters.zookeeper.probe import zookeeper_leader


class BookKeeperRoles(StorageRoles):
    """The roles of a BookKeeper cluster. `ensemble` is the ensemble of the newest ledger that is open for writing."""

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        fixed = {"zookeepers": self.zookeepers, "bookies": self.bookies}
        if role in fixed:
            return tuple(host.name for host in fixed[role]())
        if role == "zookeeper-leader":
            return zookeeper_leader(self.zookeepers())
        ledger, addresses = metadata.newest_open([host.address for host in self.zookeepers()])
        ensemble = self.named(addresses)
        return self.outside(ensemble, f"ledger {ledger}") if role == "outside" else ensemble
