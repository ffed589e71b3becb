"""Systems that run already, deployed by their owner: chaoskit connects, and deploys nothing."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.node import Node
from chaoskit.contract.systems.owned import Owned
from chaoskit.contract.systems.service import Service

_HOSTS = "cluster.inventory.hosts"


def on_hosts(nodes: Sequence[Node], hosts: Sequence[ServiceHost]) -> tuple[list[Node], list[ServiceHost]]:
    """Return the nodes, each with the name of its host, and their hosts in the same order; without hosts, the nodes.

    A node's host is the one whose inventory says its id, or has its address.

    Raises:
        BadInput: a node has no host, or a host has no node.
    """
    if not hosts:
        return list(nodes), []
    problems, left = Problems(), list(hosts)
    named: list[Node] = []
    ordered: list[ServiceHost] = []
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
        named.append(node._replace(name=match[0].name))
        ordered.append(match[0])
    for host in left:
        problems.add(BadInput(f"{_HOSTS}.{host.name}: no node runs on it ({host.address}); remove it, or set node"))
    problems.raise_any()
    return named, ordered


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

    @property
    def attached_roles(self) -> Collection[str]: ...

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

    def attach(self, settings: Mapping[str, Any], options: Any, hosts: Sequence[ServiceHost]) -> Service:
        """Connect. Creates nothing.

        Args:
            settings: where to connect.
            options: the system's options.
            hosts: the hosts of its nodes, as their owner's inventory names them
                (`chaoskit.contract.systems.owned.Owned`); if there are none, the service has no `Installation`.

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
            ServiceError: they could not be deleted.
        """
        ...
