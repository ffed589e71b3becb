"""This process's participant of a domain, and the quality of service of its entities.

It takes part on one network only: that of the lab, or loopback. Without that, it would call peers on every network
of this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psutil
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant

from chaoskit.base.quantities import SECOND
from clusters.cyclonedds.settings import DOMAIN, LEASE_NS, PEERS, EndpointSettings, WriterSettings

_LOOPBACK = "127.0.0.1"


def participant(connection: Mapping[str, Any]) -> DomainParticipant:
    """Return the participant; a process has one.

    Args:
        connection: what clients are told.
    """
    return _participant(connection[DOMAIN], _own_address(connection[PEERS]), connection[LEASE_NS])[1]


def qos_of(settings: EndpointSettings) -> Qos:
    """Return the quality of service of a writer or a reader."""
    last = settings.history == "keep-last"
    blocking = settings.max_blocking if isinstance(settings, WriterSettings) else 0
    policies = (
        Policy.Reliability.Reliable(blocking) if settings.qos == "reliable" else Policy.Reliability.BestEffort,
        Policy.History.KeepLast(settings.depth) if last else Policy.History.KeepAll,
        Policy.Durability.Volatile if settings.durability == "volatile" else Policy.Durability.TransientLocal,
    )
    return Qos(*policies)


@lru_cache(maxsize=1)
def _participant(domain: int, address: str, lease_ns: int) -> tuple[Domain, DomainParticipant]:
    multicast = ' multicast="true"' if address == _LOOPBACK else ""
    configuration = (
        "<CycloneDDS><Domain>"
        f'<General><Interfaces><NetworkInterface address="{address}"{multicast}/></Interfaces></General>'
        f"<Discovery><LeaseDuration>{lease_ns / SECOND:g}s</LeaseDuration></Discovery>"
        "</Domain></CycloneDDS>"
    )
    return Domain(domain, configuration), DomainParticipant(domain)


def _own_address(peers: Sequence[str]) -> str:
    """Return this machine's, or this host's, address on the network of the peers."""
    there = [ipaddress.ip_address(each) for each in peers]
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.netmask and "." in each.address:
                network = ipaddress.ip_network(f"{each.address}/{each.netmask}", strict=False)
                if any(peer in network for peer in there):
                    return each.address
    return _LOOPBACK
