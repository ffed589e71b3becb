"""The network on which this process reaches its peers: that of the lab, if it is in one, or loopback."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import psutil

LOOPBACK = "127.0.0.1"


def own_network(peers: Sequence[str]) -> tuple[str, str]:
    """Return this machine's, or this host's, address on the network of the peers, and the name of the interface."""
    peer_addresses = [ipaddress.ip_address(peer) for peer in peers]
    for interface, addresses in psutil.net_if_addrs().items():
        for address in addresses:
            if address.netmask and "." in address.address:
                network = ipaddress.ip_network(f"{address.address}/{address.netmask}", strict=False)
                if any(peer in network for peer in peer_addresses):
                    return address.address, interface
    return LOOPBACK, "lo"
