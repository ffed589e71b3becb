"""Who holds which role in a Pulsar cluster right now.

Owners and ensembles come from brokers, ZooKeeper's leader from each of its servers, registered bookies from the
ephemeral nodes that ZooKeeper lists: no broker needs to be believed for those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from chaoskit.cluster import ClusterError
from chaoskit.host import ServiceHost
from clusters.pulsar import probe
from clusters.pulsar.admin import Admin
from clusters.pulsar.settings import Placement

ROLES = (
    "leader", "owner", "ensemble", "ensemble-bookie", "outside", "zookeeper-leader", "load-manager-leader",
    "zookeepers", "bookies", "brokers",
)  # fmt: skip
"""`leader` is another word for `owner`, so that scenarios of other systems need no change."""

_TIMEOUT_S = 0.5
"""A server that runs answers in milliseconds; one that is paused must not hold up a fault."""

_STATE_TIMEOUT_S = 2
_WRITABLE = re.compile(r"/ledgers/available/([0-9a-fA-F.:]+):\d+$", re.MULTILINE)


class Roles:
    """The roles of one cluster.

    Args:
        hosts: of the cluster.
        placed: which of them have which role.
        admin: of its brokers.
    """

    def __init__(self, hosts: Sequence[ServiceHost], placed: Placement, admin: Admin) -> None:
        self._hosts = hosts
        self._placed = placed
        self._admin = admin

    def find(self, role: str, topic: str, partition: int) -> tuple[str, ...]:
        """See `chaoskit.cluster.Cluster`."""
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
            return by_partition[role](topic, partition)
        return self._zookeeper_leader() if role == "zookeeper-leader" else self._load_manager_leader()

    def zookeepers(self) -> list[ServiceHost]:
        """Return the hosts with a ZooKeeper server."""
        return [self._hosts[index] for index in self._placed.zookeepers]

    def bookies(self) -> list[ServiceHost]:
        """Return the hosts with a bookie."""
        return [self._hosts[index] for index in self._placed.bookies]

    def brokers(self) -> list[ServiceHost]:
        """Return the hosts with a broker."""
        return [self._hosts[index] for index in self._placed.brokers]

    def registered_bookies(self) -> set[str]:
        """Return the addresses of the bookies that ZooKeeper has as writable; none if it cannot be asked."""
        for host in self.zookeepers():
            try:
                if probe.zookeeper_mode(host.address, _TIMEOUT_S):
                    return set(_WRITABLE.findall(probe.zookeeper_word(host.address, "dump", _TIMEOUT_S)))
            except OSError:
                continue
        return set()

    def _owner(self, topic: str, partition: int) -> tuple[str, ...]:
        return self._named([self._admin.owner(topic, partition, _TIMEOUT_S)])

    def _ensemble(self, topic: str, partition: int) -> tuple[str, ...]:
        ensemble = self._admin.state(topic, partition, _STATE_TIMEOUT_S).ensemble
        if not ensemble:
            raise ClusterError(f"{topic}/{partition} has no current ledger")
        return self._named(ensemble)

    def _outside(self, topic: str, partition: int) -> tuple[str, ...]:
        ensemble = self._ensemble(topic, partition)
        outside = tuple(host.name for host in self.bookies() if host.name not in ensemble)
        if not outside:
            raise ClusterError(f"every bookie is in the ensemble of {topic}/{partition}: add one (cluster.hosts)")
        return outside

    def _zookeeper_leader(self) -> tuple[str, ...]:
        servers = self.zookeepers()
        with ThreadPoolExecutor(len(servers)) as pool:
            modes = list(pool.map(lambda host: zookeeper_mode(host.address), servers))
        leaders = [host.name for host, mode in zip(servers, modes, strict=True) if mode in ("leader", "standalone")]
        if not leaders:
            raise ClusterError("ZooKeeper has no leader now")
        return (leaders[0],)

    def _load_manager_leader(self) -> tuple[str, ...]:
        return self._named([self._admin.load_manager_leader(_STATE_TIMEOUT_S)])

    def _named(self, addresses: Sequence[str]) -> tuple[str, ...]:
        names = {host.address: host.name for host in self._hosts}
        if unknown := [address for address in addresses if address not in names]:
            raise ClusterError(f"no host of the lab has the address {', '.join(unknown)}")
        return tuple(names[address] for address in addresses)


def zookeeper_mode(address: str) -> str:
    """Return `leader`, `follower` or `standalone`; empty for a server that serves nothing now."""
    try:
        return probe.zookeeper_mode(address, _TIMEOUT_S)
    except OSError:
        return ""
