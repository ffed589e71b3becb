"""Reachability probes between hosts, and from hosts to the location of clients."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash

_PING = """
for each; do
    to=$each; [ "$each" = harness ] && to=${SSH_CONNECTION%% *}
    ping -q -c 1 -W 0.2 "$to" > /dev/null 2>&1 && echo "$each" &
done
wait
"""

_CONNECT = """
port=$1; shift
for each; do
    to=$each; [ "$each" = harness ] && to=${SSH_CONNECTION%% *}
    timeout 0.2 bash -c '< "/dev/tcp/$1/$2"' connect "$to" "$port" > /dev/null 2>&1 && echo "$each" &
done
wait
"""

Pair = tuple[ServiceHost, str]
"""A host, and an address or `harness`."""


def both_families(source: ServiceHost, peer: ServiceHost) -> list[Pair]:
    """Return the probes from one host to another, by IPv4 and, if both have it, by IPv6."""
    peer_addresses = [peer.address, peer.address6] if source.address6 and peer.address6 else [peer.address]
    return [(source, address) for address in peer_addresses]


def reached(pairs: Iterable[Pair], port: int | None = None) -> set[tuple[str, str]]:
    """Probe all pairs in parallel, by ICMP echo or by connecting to a TCP port; return (host name, address) of those
    that answer within 0.2 s."""
    wanted: dict[str, tuple[ServiceHost, list[str]]] = {}
    for host, address in pairs:
        wanted.setdefault(host.name, (host, []))[1].append(address)
    script, *arguments = [_PING] if port is None else [_CONNECT, str(port)]

    def probe(one: tuple[ServiceHost, list[str]]) -> set[tuple[str, str]]:
        host, own = one
        return {(host.name, address) for address in bash(host, script, *arguments, *own, check=False).out.split()}

    return set().union(*on_each(list(wanted.values()), probe))


def unreached(pairs: Sequence[Pair], attempts: int = 5) -> set[tuple[str, str]]:
    """Return the pairs that do not answer after this number of attempts."""
    missing = list(pairs)
    for _ in range(attempts):
        answered = reached(missing) if missing else set()
        missing = [(host, address) for host, address in missing if (host.name, address) not in answered]
    return {(host.name, address) for host, address in missing}


def knock(host: ServiceHost, port: int) -> None:
    """Send a packet to a host from the location of clients; nothing needs to listen."""
    with socket.socket(socket.AF_INET6 if ":" in host.address else socket.AF_INET) as knocking:
        knocking.setblocking(False)
        knocking.connect_ex((host.address, port))
