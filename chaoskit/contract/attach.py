"""Systems that run already, deployed by their owner: chaoskit connects, and deploys nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

from chaoskit.contract.cluster import Cluster
from chaoskit.contract.guarantee import Declared
from chaoskit.contract.host import HostError, ServiceHost
from chaoskit.contract.power import P, held


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
    disks: Mapping[str, Any] = field(default_factory=dict)

    def power(self, kind: type[P]) -> P:
        """Raise `PowerMissing`; see `chaoskit.contract.power.Powered`."""
        return held(kind, [], f"{self.name}, a node that runs already,")

    def __getattr__(self, name: str) -> Any:
        """Raise for everything that hosts do."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise HostError(f"{self.name} ({self.address}) runs already: nothing can be done on it (cluster.attach)")


def in_place_of_hosts(nodes: Sequence[Node]) -> Sequence[ServiceHost]:
    """Return nodes as the hosts of their cluster."""
    return cast("Sequence[ServiceHost]", nodes)


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

    def attach(self, settings: Mapping[str, Any], options: Any) -> Cluster:
        """Connect; `Cluster.hosts` are `Node`s. Creates nothing.

        Raises:
            BadInput: as `observe`.
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
