"""The shapes of partitions: which hosts are cut off from which peers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal

from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.hosts.host import ServiceHost
from nemeses.network.peers import Peers, find_peers

Shape = Literal["isolate", "each", "halves", "majorities-ring", "bridge"]

Cuts = Mapping[ServiceHost, Peers]
"""For each host with rules, the peers that it is cut off from."""

_HOSTS_MIN = {"halves": 2, "majorities-ring": 4, "bridge": 3}


def cuts_around_targets(strike: Strike, peers: Sequence[str], *, together: bool) -> Cuts:
    """Cut the targets off, as a connected group or each one separately.

    Raises:
        NemesisError: there are no peers to be cut off from.
    """
    group = list(strike.hosts)
    cuts = {host: find_peers(strike, peers, group if together else [host]) for host in group}
    return _refuse_empty(cuts, f"peers: {', '.join(peers)} matches nothing besides {strike.names}")


def cuts_between(groups: Sequence[Sequence[ServiceHost]]) -> Cuts:
    """Cut every group off from the others; hosts in no group are not affected.

    Raises:
        NemesisError: fewer than two groups have hosts.
    """
    cuts: dict[ServiceHost, Peers] = {}
    for group in groups:
        strangers = {host.name: host for other in groups for host in other}
        for host in group:
            strangers.pop(host.name, None)
        cuts |= {host: Peers(tuple(strangers.values()), clients=False) for host in group}
    return _refuse_empty(cuts, "groups: fewer than two groups have hosts of their own")


def cuts_of_shape(shape: Shape, hosts: Sequence[ServiceHost], seed: int) -> Cuts:
    """Divide the cluster's hosts, in a random order from the seed.

    `halves`: two groups; the second is at least as large. `bridge`: the same, plus one host that reaches both.
    `majorities-ring`: each host reaches a majority, and no two hosts the same one.

    Raises:
        NemesisError: there are too few hosts.
    """
    if len(hosts) < _HOSTS_MIN[shape]:
        raise NemesisError(f"shape: {shape} needs at least {_HOSTS_MIN[shape]} hosts; there are {len(hosts)}")
    drawn = random.Random(seed).sample(list(hosts), len(hosts))  # noqa: S311  # a repeatable draw, no secret
    if shape == "majorities-ring":
        return _ring(drawn)
    free = drawn[1:] if shape == "bridge" else drawn
    return cuts_between([free[: len(free) // 2], free[len(free) // 2 :]])


def _ring(hosts: Sequence[ServiceHost]) -> Cuts:
    size = len(hosts)
    reach = -(-(size // 2) // 2)
    cuts = {}
    for place, host in enumerate(hosts):
        far = [hosts[(place + step) % size] for step in range(reach + 1, size - reach)]
        cuts[host] = Peers(tuple(far), clients=False)
    return _refuse_empty(cuts, f"shape: majorities-ring cuts nothing among {size} hosts")


def _refuse_empty(cuts: Cuts, why: str) -> Cuts:
    kept = {host: peers for host, peers in cuts.items() if peers.names()}
    if not kept:
        raise NemesisError(why)
    return kept
