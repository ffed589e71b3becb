"""Systems that run already, deployed by their owner: chaoskit connects, and deploys nothing."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast, runtime_checkable

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.cluster import Cluster
from chaoskit.contract.guarantee import Declared
from chaoskit.contract.host import HostError, ServiceHost
from chaoskit.contract.owned import Owned
from chaoskit.contract.power import P, held

_HOSTS = "cluster.inventory.hosts"


@dataclass(frozen=True)
class Node:
    """A node of a system that runs already, in the place of a host; nothing can be done on it.

    Attributes:
        name: `n1`, `n2`, ... in the order of the nodes' ids.
        address: where its clients connect, as `host:port`.
        id: its id in the system.
        disks: none; its owner has not given them.
    """

    name: str
    address: str
    id: str
    disks: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def power(self, kind: type[P]) -> P:
        """Raise `PowerMissing`; see `chaoskit.contract.power.Powered`."""
        return held(kind, [], f"{self.name}, a node that runs already,")

    def __getattr__(self, name: str) -> Any:
        """Raise for everything that hosts do."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise HostError(f"{self.name} ({self.address}) runs already: nothing can be done on it (cluster.attach)")


def on_hosts(nodes: Sequence[Node], hosts: Sequence[ServiceHost]) -> list[tuple[Node, ServiceHost]]:
    """Return each node, with the name of its host, beside that host. Without hosts, nodes stand in for them.

    A node's host is the one whose inventory says its id, or has its address.

    Raises:
        BadInput: a node has no host, or a host has no node.
    """
    if not hosts:
        return [(node, cast("ServiceHost", node)) for node in nodes]
    problems, found, left = Problems(), [], list(hosts)
    for node in nodes:
        where = node.address.rpartition(":")[0].strip("[]")
        known = {where, *_addresses(where)}
        match = [host for host in left if host.power(Owned).id == node.id]
        match += [host for host in left if not host.power(Owned).id and known & {host.name, host.address}]
        if not match:
            problems.add(BadInput(f"{_HOSTS}: none is that of node {node.id} at {node.address}; add it, or set node"))
            continue
        left.remove(match[0])
        match[0].power(Owned).id = node.id
        found.append((replace(node, name=match[0].name), match[0]))
    for host in left:
        problems.add(BadInput(f"{_HOSTS}.{host.name}: no node runs on it ({host.address}); remove it, or set node"))
    problems.raise_any()
    return found


def check_free(namespace: str, names: Iterable[str]) -> None:
    """Reject a namespace that is in use: what it holds would be written to, and deleted at the end.

    Raises:
        BadInput: one of the names begins with it.
    """
    if taken := sorted(name for name in names if name.startswith(namespace)):
        raise BadInput(f"cluster.prefix: {taken[0]} exists already, and is not this run's; run again")


def _addresses(name: str) -> set[str]:
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except OSError:
        return set()


@runtime_checkable
class Attaching(Protocol):
    """Optional power of a system: connect to one that runs already.

    The settings are those of `cluster.attach`, as clients of the system have them. A secret is written as a reference
    (see `chaoskit.base.secrets`), which only those who connect resolve.

    Attributes:
        attached_roles: the roles that can be found in an attached cluster.
    """

    attached_roles: Collection[str]

    def check_attach(self, settings: Mapping[str, Any], declared: Declared) -> None:
        """Reject settings, and a declared load, that cannot work, without connecting.

        Raises:
            BadInput: names each key and the remedy.
        """
        ...

    def observe(self, settings: Mapping[str, Any], nodes: int, options: Any) -> Any:
        """Return the system's options, completed by what is in effect where guarantees depend on it.

        Raises:
            BadInput: it cannot be reached, has another number of nodes, or other settings than the options say.
        """
        ...

    def attach(self, settings: Mapping[str, Any], options: Any, hosts: Sequence[ServiceHost]) -> Cluster:
        """Connect. Creates nothing.

        Args:
            settings: where to connect.
            options: the system's options.
            hosts: the hosts of its nodes, as their owner's inventory names them (`chaoskit.contract.owned.Owned`); if
                there are none, `Cluster.hosts` are `Node`s.

        Raises:
            BadInput: as `observe`, or hosts and nodes do not match.
        """
        ...

    def remove(self, settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """Delete topics that a run created, and its groups; return those that existed.

        Args:
            settings: where to connect.
            names: their names in the system.

        Raises:
            ClusterError: they could not be deleted.
        """
        ...
