"""Claiming what a lab has for itself: a name, a folder, and a network, which the bridge of that name shows to all."""

from __future__ import annotations

import secrets
from ipaddress import IPv4Network
from pathlib import Path

from chaoskit.base.journal import Journal, claims
from chaoskit.base.state import state_folder
from clusters.hosts.exposure import shield
from clusters.hosts.labs.removal import remove
from clusters.hosts.network import PREFIX_LENGTH, PREFIX_LENGTH6, address6, choosing, free_range, ip, links

_PROVIDER = "local"
_NAME_LENGTH = 8
"""Length of a lab's name; with a host's name appended, it fits the 15 characters of an interface name."""


def _draw_name() -> str:
    return f"ck{secrets.token_hex((_NAME_LENGTH - 2) // 2)}"


def claim(journal: Journal) -> tuple[str, Path, IPv4Network]:
    """Choose the name, the folder and the address range of a lab, and make its bridge, which shows the range to all."""
    with choosing():
        taken = {link[:_NAME_LENGTH] for link in links()}
        name = next(name for name in iter(_draw_name, None) if name not in taken)
        folder = state_folder() / "labs" / name
        network = free_range(claims("network"))
        journal.record(_PROVIDER, lab=name, folder=str(folder), network=str(network))
        address = f"{network.broadcast_address - 1}/{PREFIX_LENGTH}"
        try:
            ip(f"link add {name} type bridge", f"address add {address} dev {name}")
        except BaseException:
            remove(name, folder)
            raise
    return name, folder, network


def open_network(name: str, network: IPv4Network) -> None:
    """Let the hosts of a lab reach each other and this machine, and nobody else reach them."""
    gateway = network.broadcast_address - 1
    ip(f"link set {name} up")
    shield(name)
    if gateway6 := address6(str(gateway)):
        ip(f"address add {gateway6}/{PREFIX_LENGTH6} dev {name} nodad")
