"""Evaluates a series of pings from a host: round trips, loss, duplicates, order."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from nemeses.network.peers import HARNESS, Peers

_REPLY = re.compile(r"icmp_seq=(\d+) .*time=([\d.]+) ms( \(DUP!\))?")
_SENT = re.compile(r"(\d+) packets transmitted, (\d+) received")
_PINGS = '[ "$1" = harness ] && set -- "${SSH_CONNECTION%% *}" "${@:2}"; ping -n -U -W 1 "${@:2}" "$1"'
"""User-to-user latency (`-U`), because the kernel timestamps a packet before it is queued."""


@dataclass(frozen=True, slots=True)
class Pings:
    """The replies to pings.

    Attributes:
        sent: number of echo requests.
        received: number of first replies.
        duplicates: number of further replies.
        late: number of replies that arrived after the reply to a later request.
        rtts_ms: round-trip times of the first replies, if each was printed.
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
        """Median round-trip time.

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
    """Return the address to ping: the clients' location if included, else the first peer."""
    return HARNESS if peers.clients else peers.hosts[0].address
