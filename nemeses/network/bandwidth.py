"""Slow links: outgoing packets are queued by htb, incoming packets by the packet queue on the host."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

from pydantic import Field

from chaoskit.base.quantities import Size, format_size
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.system import System
from nemeses.network.packets import FromPeers, Measured, PacketFault, check_queue
from nemeses.network.peers import Direction, Peers, addresses, paths
from nemeses.network.pings import nearest, ping
from nemeses.network.queueing import queue_scripts

_PACKET = 1428
_TOLERANCE = 1.5
_RATE_MAX = 20 * 10**6
"""Rates that pings can prove."""

_SHAPE = """
case $SSH_CONNECTION in *.*) protocol=ip family=ip length=32;; *) protocol=ipv6 family=ip6 length=128;; esac
for device in /sys/class/net/*/ifindex; do
    device=${{device%/ifindex}} device=${{device##*/}}
    [ "$device" = lo ] && continue
    {{
        echo qdisc add dev $device root handle 1: htb default 0
        echo class add dev $device parent 1: classid 1:10 htb rate {bits}bit
        echo filter add dev $device parent 1: prio 1 protocol $protocol u32 \\
            match $family dst ${{SSH_CONNECTION%% *}}/$length \\
            match $family protocol 6 0xff match $family sport 22 0xffff flowid 1:0
{filters}
    }} | tc -batch - || exit
done
"""

_UNSHAPE = """
for device in /sys/class/net/*/ifindex; do
    device=${device%/ifindex} device=${device##*/}
    tc qdisc show dev "$device" root | grep -q 'htb 1:' && tc qdisc delete dev "$device" root
done
true
"""


class BandwidthParameters(FromPeers):
    """At most `rate` bytes per second (10kB to 20MB), all peers together: `in` to each target, `out`, or each way."""

    rate: Annotated[Size, Field(ge=10_000, le=_RATE_MAX)] = 2**20
    direction: Direction = "both"


class Bandwidth(PacketFault):
    """Packets beyond the rate wait in a queue of 1000; when it is full they are dropped, as on a slow link."""

    does = Act.SLOWS
    summary = "limit the bytes per second that hosts receive from, or send to, their peers"
    held = False
    parameters = BandwidthParameters

    def occupies(self, parameters: BandwidthParameters) -> Collection[HostPart]:
        """Return the paths, and the processor time, whose shortage would look like a slow link."""
        return {*paths(parameters.direction), HostPart.RESOURCES}

    def prepare(self, system: System, options: Any, parameters: BandwidthParameters) -> None:
        """See `chaoskit.contract.faults.nemesis.Preparing`: what arrives is handled by a process on the host."""
        if parameters.direction != "out":
            check_queue(system, "write direction: out")

    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        asked: BandwidthParameters = strike.parameters
        acts, undos = [], []
        if asked.direction != "in":
            acts.append(_SHAPE.format(bits=asked.rate * 8, filters=_filters(peers, strike.lab)))
            undos.append(_UNSHAPE)
        if asked.direction != "out":
            act, undo = queue_scripts(strike, host, peers, {"rate": asked.rate})
            acts.append(act)
            undos.append(undo)
        return "\n".join(acts), "\n".join(undos)

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        asked: BandwidthParameters = strike.parameters
        # Pings are sent as fast as replies arrive; a rate that they cannot reach would not be proved.
        seen = ping(host, nearest(peers), "-f", "-l", "30", "-w", "1", "-s", str(_PACKET - 28))
        rate = seen.received * _PACKET
        words = f"{seen.received} packets of {_PACKET} B in 1 s"
        if not 0 < rate < _TOLERANCE * asked.rate:
            raise NemesisError(f"{host.name}: {words}, not {format_size(asked.rate)}/s")
        return f"{words}: {rate / 1e3:.0f} kB/s ({asked.rate / 1e3:.0f} configured)", {"bytes_per_s": rate}


def _filters(peers: Peers, cluster: Sequence[ServiceHost]) -> str:
    """Return tc filters that put peers into the class; if all clients match, other hosts are excluded first."""
    lines = []
    protocols = (("ip", "ip", 32, "dst 0.0.0.0/0"), ("ip6", "ipv6", 128, "dst ::/0"))
    for place, (family, protocol, length, everyone) in enumerate(protocols):
        shaped = set(addresses(peers.hosts).get(family, []))
        others = set(addresses(cluster).get(family, [])) - shaped
        matches = [(f"dst {address}/{length}", "1:10") for address in shaped]
        if peers.clients:
            matches += [(f"dst {address}/{length}", "1:0") for address in others] + [(everyone, "1:10")]
        lines += [
            f"        echo filter add dev $device parent 1: prio {10 + 10 * place + (match == everyone)} "
            f"protocol {protocol} u32 match {family} {match} flowid {flow}"
            for match, flow in matches
        ]
    return "\n".join(lines)
