"""What a series of pings from a host shows: round trips, loss, duplicates, order."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass

from chaoskit.contract.host import ServiceHost
from chaoskit.contract.nemesis import NemesisError
from nemeses.network.peers import HARNESS, Peers
from nemeses.shell import bash

_REPLY = re.compile(r"icmp_seq=(\d+) .*time=([\d.]+) ms( \(DUP!\))?")
_SENT = re.compile(r"(\d+) packets transmitted, (\d+) received")
_PINGS = '[ "$1" = harness ] && set -- "${SSH_CONNECTION%% *}" "${@:2}"; ping -n -U -W 1 "${@:2}" "$1"'
"""Time from user to user (`-U`): the kernel stamps a packet before a queue holds it."""


@dataclass(frozen=True, slots=True)
class Pings:
    """The answers to pings.

    Attributes:
        sent: echo requests.
        received: replies, the first of each.
        duplicates: further replies.
        late: replies that came after one to a later request.
        rtts_ms: round trips of the first replies, where each was printed.
    """

    sent: int
    received: int
    duplicates: int
    late: int
    rtts_ms: tuple[float, ...]

    @property
    def lost(self) -> int:
        return self.sent - self.received

    @property
    def median_ms(self) -> float:
        """Median round trip.

        Raises:
            NemesisError: there was no reply.
        """
        if not self.rtts_ms:
            raise NemesisError(f"none of {self.sent} pings was answered")
        return statistics.median(self.rtts_ms)


def ping(host: ServiceHost, address: str, *options: str) -> Pings:
    """Ping an address, or `harness`, with these options of `ping`."""
    out = bash(host, _PINGS, address, *options, check=False, timeout_s=60).out
    replies = [(int(seq), float(ms), bool(again)) for seq, ms, again in _REPLY.findall(out)]
    firsts = [seq for seq, _, again in replies if not again]
    late = sum(seq < max(firsts[:place]) for place, seq in enumerate(firsts) if place)
    if (summary := _SENT.search(out)) is None:
        raise NemesisError(f"ping from {host.name} to {address} failed: {out.strip()}")
    rtts = tuple(ms for _, ms, again in replies if not again)
    return Pings(int(summary[1]), int(summary[2]), len(replies) - len(firsts), late, rtts)


def nearest(peers: Peers) -> str:
    """Return whom to ping: where the clients are, else the first peer."""
    return HARNESS if peers.clients else peers.hosts[0].address
