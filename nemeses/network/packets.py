"""Faults of single packets: lost, delayed, reordered, duplicated, corrupted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import MILLISECOND, Duration, format_duration
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.nemesis import Nemesis, NemesisError, Strike
from nemeses.holding import check_held, hold, release
from nemeses.network.firewall import Rules, check_gone, counted
from nemeses.network.peers import PeerNames, Peers, find_peers
from nemeses.network.pings import Pings, nearest, ping
from nemeses.network.queueing import queue_scripts
from nemeses.services import on_each

_EVENTS = 12
"""How many events a series of pings should see: that it sees none has a chance of e^-12."""
_PINGS_MIN = 20
_HEALTHY_MS = 5
"""A round trip on an idle local network takes less, on a busy machine too."""
_MILLION = 1_000_000
_ATTEMPTS = 3
"""On a busy machine pings may be sent so far apart that none overtakes another."""

Percent = Annotated[float, Field(ge=0.5, le=100)]


class PacketFault(Nemesis):
    """What faults of packets have in common: peers looked up at injection, a hold on each target, pings as proof."""

    family = "network"

    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        """Return the bash scripts that make the fault on a host and undo it."""
        raise NotImplementedError

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> str:
        """Return the measured effect on a host.

        Raises:
            NemesisError: there is none.
        """
        raise NotImplementedError

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            peers = strike.notes[f"peers of {host.name}"] = find_peers(strike, strike.parameters.peers, [host])
            if not peers.names():
                raise NemesisError(f"peers: {', '.join(strike.parameters.peers)} has nobody besides {host.name}")
            hold(strike, host, *self.scripts(strike, host, peers))

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> str:
        def judge(host: ServiceHost) -> str:
            return f"{host.name}: {self.measure(strike, host, strike.notes[f'peers of {host.name}'])}"

        return "; ".join(on_each(strike.hosts, judge))

    def heal(self, strike: Strike) -> None:
        release(strike)

    def verify_healed(self, strike: Strike) -> str:
        def judge(host: ServiceHost) -> str:
            check_gone(host, f"chaoskit_{strike.name}")
            peers = strike.notes.get(f"peers of {host.name}") or find_peers(strike, ["hosts"], [host])
            return f"{host.name}: {_clean(host, peers)}"

        evidence = "; ".join(on_each(strike.hosts, judge))
        check_held(strike)
        return evidence


class QueuedFault(PacketFault):
    """Made by a process on the target that sees every packet that arrives from the peers."""

    def what(self, parameters: Any) -> Mapping[str, object]:
        """Return the keys of `packet_queue`."""
        return {key: value for key, value in parameters if key != "peers"}

    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        return queue_scripts(strike, host, peers, self.what(strike.parameters))


class FromPeers(BaseModel):
    """`peers`: `all`, `hosts`, `clients`, host names or roles whose packets are concerned."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    peers: PeerNames = ["all"]


class LossParameters(FromPeers):
    """`percent` of the packets that come `in` to the targets, go `out`, or each way (`both`)."""

    percent: Annotated[float, Field(ge=0.1, le=100)] = 10
    direction: Literal["both", "in", "out"] = "both"


class PacketLoss(PacketFault):
    """A share of packets, drawn by the kernel one by one, is lost in silence."""

    summary = "lose a percentage of packets between hosts and their peers"
    parameters = LossParameters

    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        asked: LossParameters = strike.parameters
        share = round(asked.percent * _MILLION / 100)
        draw = "" if asked.percent == 100 else f"numgen random mod {_MILLION} < {share} "
        lose = (f"{draw}counter name {{hit}} drop",)
        rules = Rules(
            f"chaoskit_{strike.name}",
            peers,
            arriving=lose if asked.direction != "out" else (),
            leaving=lose if asked.direction != "in" else (),
        )
        return rules.act(strike.cluster.hosts), rules.undo()

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> str:
        asked: LossParameters = strike.parameters
        share = asked.percent / 100
        pings = str(max(_PINGS_MIN, math.ceil(_EVENTS / share)))
        # Ping is told of what is lost on its way out, and sends that again: only the counters show it.
        seen = ping(host, nearest(peers), "-f", "-q", "-c", pings)
        counts = counted(host, f"chaoskit_{strike.name}")
        evidence = [f"{seen.lost} of {seen.sent} pings lost"]
        for way in ("in", "out") if asked.direction == "both" else (asked.direction,):
            hit, packets = counts.get(f"hit_{way}", 0), counts.get(f"seen_{way}", 0)
            evidence.append(f"{hit} of {packets} packets {way} lost ({share:.1%} asked)")
            reaches = way == "out" or asked.direction == "in" or share < 1
            if reaches and (not hit or abs(hit - packets * share) > 5 * math.sqrt(packets * share * (1 - share)) + 1):
                raise NemesisError(f"{host.name}: {', '.join(evidence)}")
        if asked.direction == "in" and not seen.lost:
            raise NemesisError(f"{host.name}: {', '.join(evidence)}")
        return ", ".join(evidence)


class DelayParameters(FromPeers):
    """Each packet that arrives waits `delay`, more or less by up to `jitter`; none overtakes another."""

    delay: Duration = 100 * MILLISECOND
    jitter: Duration = 0

    @model_validator(mode="after")
    def _jitter_is_less(self) -> DelayParameters:
        if self.jitter > self.delay:
            raise ValueError("jitter must not be more than delay")
        return self


class PacketDelay(QueuedFault):
    """Packets that arrive wait: every round trip takes that much longer."""

    summary = "delay the packets that arrive at hosts, with jitter"
    parameters = DelayParameters

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> str:
        asked: DelayParameters = strike.parameters
        median = ping(host, nearest(peers), "-c", "7", "-i", "0.02").median_ms
        if median < 0.9 * (asked.delay - asked.jitter) / 1e6:
            raise NemesisError(
                f"{host.name}: a round trip takes {median} ms and not {format_duration(asked.delay)} more"
            )
        return f"a round trip takes {median:.1f} ms"


class ReorderParameters(FromPeers):
    """`percent` of the packets that arrive are held back `by` this long; later ones overtake them."""

    percent: Percent = 25
    by: Duration = 20 * MILLISECOND


class PacketReorder(QueuedFault):
    """A share of packets arrives late, after some that were sent later."""

    summary = "hold back a percentage of the packets that arrive at hosts, so that later ones overtake them"
    parameters = ReorderParameters

    def what(self, parameters: ReorderParameters) -> Mapping[str, object]:
        return {"reorder": parameters.percent, "by": parameters.by}

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> str:
        for _ in range(_ATTEMPTS):
            seen = _series(host, peers, strike.parameters.percent)
            if seen.late:
                return f"{seen.late} of {seen.received} answers were overtaken"
        raise NemesisError(f"{host.name}: all {seen.received} answers to {seen.sent} pings came in order")


class DuplicateParameters(FromPeers):
    """`percent` of the packets that arrive come twice."""

    percent: Percent = 10


class PacketDuplicate(QueuedFault):
    """A share of packets arrives twice."""

    summary = "duplicate a percentage of the packets that arrive at hosts"
    parameters = DuplicateParameters

    def what(self, parameters: DuplicateParameters) -> Mapping[str, object]:
        return {"duplicate": parameters.percent}

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> str:
        seen = _series(host, peers, strike.parameters.percent)
        if not seen.duplicates:
            raise NemesisError(f"{host.name}: none of {seen.received} answers came twice")
        return f"{seen.duplicates} of {seen.received} answers came twice"


class CorruptParameters(FromPeers):
    """One bit of `percent` of the packets that arrive is flipped, behind their IP header."""

    percent: Percent = 10


class PacketCorrupt(QueuedFault):
    """A share of packets arrives with a flipped bit; the checksum of TCP, UDP or ICMP no longer fits and the kernel
    drops them."""

    summary = "flip a bit in a percentage of the packets that arrive at hosts: checksums make the kernel drop them"
    parameters = CorruptParameters

    def what(self, parameters: CorruptParameters) -> Mapping[str, object]:
        return {"corrupt": parameters.percent}

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> str:
        before = _checksum_errors(host)
        seen = _series(host, peers, strike.parameters.percent)
        errors = _checksum_errors(host) - before
        if not errors:
            raise NemesisError(f"{host.name}: no wrong checksum in the answers to {seen.sent} pings")
        return f"{errors} of {seen.sent} answers had a wrong checksum"


def _series(host: ServiceHost, peers: Peers, percent: float) -> Pings:
    count = max(_PINGS_MIN, math.ceil(_EVENTS * 100 / percent))
    return ping(host, nearest(peers), "-c", str(count), "-i", "0.002")


def _checksum_errors(host: ServiceHost) -> int:
    lines = host.run(["nstat", "-asz", "IcmpInCsumErrors", "Icmp6InCsumErrors"]).out.splitlines()
    return sum(int(line.split()[1]) for line in lines if "CsumErrors" in line)


def _clean(host: ServiceHost, peers: Peers) -> str:
    seen = ping(host, nearest(peers), "-c", str(_PINGS_MIN), "-i", "0.005")
    if seen.lost or seen.duplicates or seen.late or seen.median_ms > _HEALTHY_MS:
        raise NemesisError(f"the network of {host.name} is not as before: {seen}")
    return f"{seen.received} of {seen.sent} pings answered, once each, in order, in {seen.median_ms:.2f} ms"
