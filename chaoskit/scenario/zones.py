"""Zones: names of groups of hosts, such as racks. `zone:a` stands for the hosts of zone a wherever hosts are named."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from chaoskit.base.errors import BadInput, nearest

PREFIX = "zone:"

Zones = Mapping[str, Sequence[str]]
Names = TypeVar("Names", bound=str | list[str] | list[list[str]])


def check_zones(zones: Zones, hosts: Collection[str]) -> None:
    """Reject zones of hosts that do not exist, and hosts in several zones.

    Raises:
        BadInput: names the zone and the host.
    """
    zone_of: dict[str, str] = {}
    for zone, members in zones.items():
        for host in members:
            if host not in hosts:
                raise BadInput(f"cluster.zones.{zone}: there is no host {host!r}; {nearest(host, hosts)}")
            if zone_of.setdefault(host, zone) != zone:
                raise BadInput(f"cluster.zones.{zone}: {host} is in zone {zone_of[host]} already; remove it from one")


def expand(names: Sequence[str], zones: Zones, key: str) -> list[str]:
    """Return names with each zone replaced by its hosts.

    >>> expand(["zone:a", "leader"], {"a": ["n1", "n2"]}, "faults.0.on")
    ['n1', 'n2', 'leader']

    Raises:
        BadInput: there is no such zone; names `key`.
    """
    return list(dict.fromkeys(chain.from_iterable(_hosts(name, zones, key) for name in names)))


def _hosts(name: str, zones: Zones, key: str) -> Sequence[str]:
    if not name.startswith(PREFIX):
        return [name]
    zone = name.removeprefix(PREFIX)
    if zone not in zones:
        remedy = nearest(zone, zones) if zones else "write cluster.zones, such as {a: [n1, n2], b: [n3]}"
        raise BadInput(f"{key}: there is no zone {zone!r}; {remedy}")
    return zones[zone]
