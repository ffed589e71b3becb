"""The current holders of roles in a Pulsar cluster.

Owners and ensembles come from brokers; roles of ZooKeeper and bookies come from ZooKeeper itself
(`clusters.storage.roles`, `clusters.zookeeper.probe`), independently of brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.model.place import Place
from clusters.pulsar.deploy.admin import Admin
from clusters.pulsar.settings import PulsarPlacement
from clusters.storage.roles import StorageRoles
from clusters.zookeeper.probe import TIMEOUT_S, zookeeper_leader

_STATE_TIMEOUT_S = 2


class PulsarRoles(StorageRoles):
    """The roles of one cluster.

    Args:
        hosts: the hosts of the cluster.
        placed: their placement.
        admin: admin API of the brokers.
    """

    def __init__(self, hosts: Sequence[ServiceHost], placed: PulsarPlacement, admin: Admin) -> None:
        super().__init__(hosts, placed)
        self._placed_brokers = placed.brokers
        self._admin = admin

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        fixed = {"zookeepers": self.zookeepers, "bookies": self.bookies, "brokers": self.brokers}
        if role in fixed:
            return tuple(host.name for host in fixed[role]())
        by_partition: dict[str, Callable[[str, int], tuple[str, ...]]] = {
            "leader": self._owner,
            "owner": self._owner,
            "ensemble": self._ensemble,
            "ensemble-bookie": self._ensemble,
            "outside": self._outside,
        }
        if role in by_partition:
            if place is None:
                raise ServiceError(f"{role} is a role of a partition, but the workload has no partitions")
            return by_partition[role](*place)
        return zookeeper_leader(self.zookeepers()) if role == "zookeeper-leader" else self._load_manager_leader()

    def brokers(self) -> list[ServiceHost]:
        """Return the hosts with a broker."""
        return [self._hosts[index] for index in self._placed_brokers]

    def placed(self, topic: str, partition: int) -> Placed | None:
        """Return where a partition is stored; None if its owner does not answer."""
        try:
            address = self._admin.looked_up(topic, partition, TIMEOUT_S)
            state = self._admin.state(topic, partition, TIMEOUT_S, address)
            (owner,) = self.named([address])
            return Placed(
                (topic, partition), owner, self.named(sorted(state.stored)), self.named(state.ensemble) or None
            )
        except ServiceError:
            return None

    def _owner(self, topic: str, partition: int) -> tuple[str, ...]:
        return self.named([self._admin.owner(topic, partition, TIMEOUT_S)])

    def _ensemble(self, topic: str, partition: int) -> tuple[str, ...]:
        ensemble = self._admin.state(topic, partition, _STATE_TIMEOUT_S).ensemble
        if not ensemble:
            raise ServiceError(f"{topic}/{partition} has no current ledger")
        return self.named(ensemble)

    def _outside(self, topic: str, partition: int) -> tuple[str, ...]:
        return self.outside(self._ensemble(topic, partition), f"{topic}/{partition}")

    def _load_manager_leader(self) -> tuple[str, ...]:
        return self.named([self._admin.load_manager_leader(_STATE_TIMEOUT_S)])
