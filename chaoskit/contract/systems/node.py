"""Nodes of a running system by name and address, whether or not anything can be done on their hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Node(NamedTuple):
    """A node.

    Attributes:
        name: name of its host; without hosts `n1`, `n2`, ... in the order of the nodes' ids.
        address: where its clients connect, as `host:port`, or the address of its host.
        id: its id in the system; empty if it is not known.
    """

    name: str
    address: str
    id: str = ""


@runtime_checkable
class Nodes(Protocol):
    """Optional power of a service without an `Installation`: its nodes are known.

    Attributes:
        nodes: its nodes.
    """

    @property
    def nodes(self) -> Sequence[Node]: ...
