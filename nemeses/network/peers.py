"""The peers of a fault: hosts of the cluster, by address, and clients, which are everyone else."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from chaoskit.contract.faults.nemesis import HostNames, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.hosts.host import ServiceHost

_ALL_HOSTS = "010000E0"
"""224.0.0.1, as /proc/net/igmp has it on a little-endian machine."""

HARNESS = "harness"
"""The location of clients for `nemeses.network.probes`: the peer address of a host's SSH connection."""


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str | int) else given


PeerNames = Annotated[
    list[str], BeforeValidator(_as_list), Field(min_length=1), HostNames(also=("all", "hosts", "clients"))
]
"""`all`, `hosts`, `clients`, host names and roles."""

Ports = Annotated[list[Annotated[int, Field(ge=1, le=65535)]], BeforeValidator(_as_list)]


Direction = Literal["both", "in", "out"]
"""The direction of packets, as the targets see it."""


def paths(direction: Direction) -> Collection[HostPart]:
    """Return the network paths of a host that a fault in this direction occupies."""
    ways = {"in": {HostPart.INCOMING}, "out": {HostPart.OUTGOING}, "both": {HostPart.INCOMING, HostPart.OUTGOING}}
    return ways[direction]


@dataclass(frozen=True, slots=True)
class Peers:
    """The remote ends of the packets that a fault affects.

    Attributes:
        hosts: hosts of the cluster.
        clients: whether to include all addresses that are not hosts of the cluster.
    """

    hosts: tuple[ServiceHost, ...]
    clients: bool

    def names(self) -> list[str]:
        return [host.name for host in self.hosts] + ["clients"] * self.clients


def find_peers(strike: Strike, names: Sequence[str], without: Collection[ServiceHost]) -> Peers:
    """Resolve the names now, except hosts in `without`."""
    peers: dict[str, ServiceHost] = {}
    for name in names:
        if name != "clients":
            holders = strike.lab if name in ("all", "hosts") else strike.resolve(name)
            peers |= {host.name: host for host in holders}
    for host in without:
        peers.pop(host.name, None)
    return Peers(tuple(peers.values()), clients="all" in names or "clients" in names)


def multicasts(host: ServiceHost) -> bool:
    """Return whether somebody on a host has joined an IPv4 multicast group besides that of all hosts (RFC 1112)."""
    groups = re.findall(r"(?m)^\t+([0-9A-F]{8})\s", host.run(["cat", "/proc/net/igmp"]).out)
    return any(group != _ALL_HOSTS for group in groups)


def addresses(hosts: Sequence[ServiceHost]) -> dict[str, list[str]]:
    """Return the hosts' addresses by nftables address family; only `ip` if there is no IPv6."""
    families = {"ip": [host.address for host in hosts], "ip6": [host.address6 for host in hosts if host.address6]}
    return {family: of_family for family, of_family in families.items() if of_family}
