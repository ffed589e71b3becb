"""The floor under a message system: what two hosts of a lab do without any, as half a round trip.

ICMP (`ping`), and a plain TCP and UDP socket in a Python loop. It is what a system's own figures stand on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from chaoskit.contract import installed
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.run.warden import watched

_PYTHON = "/usr/bin/python3"
_ROUNDS = 5_000
_TIMEOUT_S = 120.0
_OF_PING = re.compile(r"= [\d.]+/([\d.]+)/")
_ICMP_HEADER = 8

DATAGRAM_MAX = 1400
"""The largest message that fits into one packet, bytes; of larger ones there is no floor."""


@dataclass(frozen=True, slots=True)
class Floor:
    """Half a round trip.

    Attributes:
        kind: `ICMP`, `TCP` or `UDP`.
        payload: bytes.
        p50_us: the median, us; of `ping`, which tells no other, the mean.
        p99_us: the 99th percentile, us; None if it is not told.
    """

    kind: str
    payload: int
    p50_us: float
    p99_us: float | None


def floors(payload: int) -> Iterator[Floor]:
    """Yield what two hosts of a lab of their own do.

    Args:
        payload: size of a message, bytes; at least 16, and at most `DATAGRAM_MAX`.

    Raises:
        BadInput: this machine cannot have a lab.
        HostError: a host does not do what it is asked to.
    """
    provider = installed.provider("local", "floor")
    provider.check(2, provider.options(), ())
    with watched(f"floor-{os.getpid()}") as journal:
        lab = provider.provision(journal, 2, provider.options())
        try:
            yield from measured(lab.hosts[0], lab.hosts[1], payload)
        finally:
            lab.close()
            journal.close()


def measured(here: ServiceHost, peer: ServiceHost, payload: int) -> Iterator[Floor]:
    """Yield what two hosts do; see `floors`."""
    size = str(max(payload - _ICMP_HEADER, 16))
    ping = ["ping", "-n", "-U", "-q", "-A", "-c", str(_ROUNDS), "-s", size, peer.address]
    mean = _OF_PING.search(here.run(ping, timeout_s=_TIMEOUT_S).out)
    if mean:
        yield Floor("ICMP", payload, float(mean[1]) * 500, None)
    loop = (resources.files("chaoskit.run") / "floor_loop.py").read_text()
    for kind in ("tcp", "udp"):
        peer.spawn(kind, [_PYTHON, "-c", loop, kind, "-", "0", str(payload)], {})
        try:
            asked = [_PYTHON, "-c", loop, kind, peer.address, str(_ROUNDS), str(payload)]
            percentiles = here.run(asked, timeout_s=_TIMEOUT_S).out.split()
        finally:
            peer.signal(kind, "KILL")
        yield Floor(kind.upper(), payload, float(percentiles[0]), float(percentiles[1]))
