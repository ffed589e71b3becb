"""The current holders of roles among ZooKeeper servers and bookies.

Registered bookies are ephemeral nodes in ZooKeeper.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.storage.settings import StoragePlacement
from clusters.zookeeper import probe

_WRITABLE = re.compile(r"/ledgers/available/([0-9a-fA-F.:]+):\d+$", re.MULTILINE)


class StorageRoles(ABC):
    """The roles of ZooKeeper servers and bookies, common to all clusters with them.

    Args:
        hosts: the hosts of the cluster.
        placed: their placement.
    """

    def __init__(self, hosts: Sequence[ServiceHost], placed: StoragePlacement) -> None:
        self._hosts = hosts
        self._placed = placed

    @abstractmethod
    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.service.Service`."""

    def zookeepers(self) -> list[ServiceHost]:
        """Return the hosts with a ZooKeeper server."""
        return [self._hosts[index] for index in self._placed.zookeepers]

    def bookies(self) -> list[ServiceHost]:
        """Return the hosts with a bookie."""
        return [self._hosts[index] for index in self._placed.bookies]

    def registered_bookies(self) -> set[str]:
        """Return the addresses of the bookies registered as writable; empty if ZooKeeper cannot be reached."""
        for host in self.zookeepers():
            try:
                if probe.zookeeper_mode(host.address, probe.TIMEOUT_S):
                    return set(_WRITABLE.findall(probe.zookeeper_word(host.address, "dump", probe.TIMEOUT_S)))
            except OSError:
                continue
        return set()

    def outside(self, ensemble: tuple[str, ...], of: str) -> tuple[str, ...]:
        """Return the names of the hosts whose bookie is not in an ensemble.

        Raises:
            ServiceError: there are none.
        """
        outside = tuple(host.name for host in self.bookies() if host.name not in ensemble)
        if not outside:
            raise ServiceError(f"every bookie is in the ensemble of {of}: add one (cluster.hosts)")
        return outside

    def named(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the hosts with these addresses.

        Raises:
            ServiceError: there is no such host.
        """
        names = {host.address: host.name for host in self._hosts}
        if unknown := [address for address in addresses if address not in names]:
            raise ServiceError(f"no host of the lab has the address {', '.join(unknown)}")
        return tuple(names[address] for address in addresses)
