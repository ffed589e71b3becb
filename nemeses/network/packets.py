"""Faults of single packets: lost, delayed, reordered, duplicated, corrupted."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import MILLISECOND, Duration, format_duration
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.system import Rooted, System
from nemeses.beside import prove_healed
from nemeses.holding import check_held, hold, release
from nemeses.network.firewall import FirewallRules, check_gone, counted
from nemeses.network.peers import Direction, PeerNames, Peers, find_peers, paths
from nemeses.network.pings import Pings, nearest, ping
from nemeses.network.queueing import queue_package, queue_scripts

_EVENTS = 12
"""Expected number of events in a series of pings; the probability of seeing none is e^-12."""
_PINGS_MIN = 20
_HEALTHY_MS = 5
"""Upper bound of a round trip on an idle local network, even on a busy machine."""
_MILLION = 1_000_000
_ATTEMPTS = 3
"""Number of attempts: on a busy machine, pings may be too far apart to overtake each other."""

Measured = tuple[str, Mapping[str, Any]]
"""What was measured on a host: in words, and as figures."""

Percent = Annotated[float, Field(ge=0.5, le=100)]


@dataclass(slots=True)
class _Resolved:
    """The peers of each target, by host."""

    peers: dict[str, Peers] = field(default_factory=dict)


class PacketFault(Nemesis):
    """Base of packet faults: resolves peers at injection, holds the fault on each target, proves it with pings."""

    family = "network"
    on_links = True
    held = True
    tools: tuple[str, ...] = ("nft", "ping")

    @abstractmethod
    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        """Return the bash scripts that inject the fault on a host and undo it."""

    @abstractmethod
    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        """Return the measured effect on a host: in words, and its figures.

        Raises:
            NemesisError: there is no effect.
        """

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            peers = strike.kept(_Resolved).peers[host.name] = find_peers(strike, strike.parameters.peers, [host])
            if not peers.names():
                raise NemesisError(f"peers: {', '.join(strike.parameters.peers)} matches nothing besides {host.name}")
            hold(strike, host, *self.scripts(strike, host, peers))

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        def judge(host: ServiceHost) -> Evidence:
            words, figures = self.measure(strike, host, strike.kept(_Resolved).peers[host.name])
            return Evidence(f"{host.name}: {words}", {host.name: figures})

        return Evidence.of_all(on_each(strike.hosts, judge))

    def heal(self, strike: Strike) -> None:
        release(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        def judge(host: ServiceHost) -> str:
            check_gone(host, f"chaoskit_{strike.name}")
            peers = strike.kept(_Resolved).peers.get(host.name) or find_peers(strike, ["hosts"], [host])
            ends = [host, *([] if peers.clients else peers.hosts[:1])]
            return f"{host.name}: {prove_healed(strike, ends, lambda: _clean(host, peers))}"

        evidence = "; ".join(on_each(strike.hosts, judge))
        check_held(strike)
        return Evidence(evidence)


def check_queue(system: System, remedy: str) -> None:
    """Refuse what passes packets to a process on the hosts, where that is not possible.

    Raises:
        BadInput: names the remedy.
    """
    if isinstance(system, Rooted):
        raise BadInput(f"needs this machine's Python on the hosts, which have another root; {remedy}")
    if queue_package() is None:
        raise BadInput(f"needs the package netfilterqueue, which is missing: {with_extra('network')}")


class QueuedFault(PacketFault):
    """A fault implemented by a process on the target that handles every packet that arrives from the peers."""

    held = False

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.INCOMING}

    def prepare(self, system: System, options: Any, parameters: Any) -> None:
        """See `chaoskit.contract.faults.nemesis.Preparing`: refuse it where packets cannot be passed to a process."""
        check_queue(system, "use another kind of fault")

    def what(self, parameters: Any) -> Mapping[str, object]:
        """Return the arguments of `packet_queue`."""
        return {key: value for key, value in parameters if key != "peers"}

    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        return queue_scripts(strike, host, peers, self.what(strike.parameters))

    def verify(self, strike: Strike) -> Evidence:
        evidence = super().verify(strike)
        for host in strike.hosts:
            if not counted(host, f"chaoskit_{strike.name}").get("hit_in"):
                raise NemesisError(f"no packet was passed to the process on {host.name}: {evidence}")
        return evidence


class FromPeers(BaseModel):
    """`peers`: `all`, `hosts`, `clients`, host names or roles whose packets are affected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    peers: PeerNames = ["all"]


class LossParameters(FromPeers):
    """Loses `percent` of the packets that arrive at the targets (`in`), leave them (`out`), or both (`both`)."""

    percent: Annotated[float, Field(ge=0.1, le=100)] = 10
    direction: Direction = "both"


class PacketLoss(PacketFault):
    """Silently drops a random fraction of packets."""

    does = Act.DROPS | Act.SLOWS
    summary = "lose a percentage of packets between hosts and their peers"
    parameters = LossParameters

    def occupies(self, parameters: LossParameters) -> Collection[HostPart]:
        return paths(parameters.direction)

    def scripts(self, strike: Strike, host: ServiceHost, peers: Peers) -> tuple[str, str]:
        asked: LossParameters = strike.parameters
        share = round(asked.percent * _MILLION / 100)
        draw = "" if asked.percent == 100 else f"numgen random mod {_MILLION} < {share} "
        lose = (f"{draw}counter name {{hit}} drop",)
        rules = FirewallRules(
            f"chaoskit_{strike.name}",
            peers,
            arriving=lose if asked.direction != "out" else (),
            leaving=lose if asked.direction != "in" else (),
        )
        return rules.act(strike.lab), rules.undo()

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        asked: LossParameters = strike.parameters
        share = asked.percent / 100
        pings = str(max(_PINGS_MIN, math.ceil(_EVENTS / share)))
        # Ping notices packets that are lost on the way out and resends them, so only the counters show these.
        seen = ping(host, nearest(peers), "-f", "-q", "-c", pings)
        counts = counted(host, f"chaoskit_{strike.name}")
        evidence = [f"{seen.lost} of {seen.sent} pings lost"]
        for way in ("in", "out") if asked.direction == "both" else (asked.direction,):
            hit, packets = counts.get(f"hit_{way}", 0), counts.get(f"seen_{way}", 0)
            evidence.append(f"{hit} of {packets} packets {way} lost ({share:.1%} configured)")
            reaches = way == "out" or asked.direction == "in" or share < 1
            if reaches and (not hit or abs(hit - packets * share) > 5 * math.sqrt(packets * share * (1 - share)) + 1):
                raise NemesisError(f"{host.name}: {', '.join(evidence)}")
        if asked.direction == "in" and not seen.lost:
            raise NemesisError(f"{host.name}: {', '.join(evidence)}")
        figures = {"pings": seen.sent, "lost": seen.lost, **counts}
        return ", ".join(evidence), figures


class DelayParameters(FromPeers):
    """Delays each arriving packet by `delay`, plus or minus up to `jitter`, without reordering."""

    delay: Duration = 100 * MILLISECOND
    jitter: Duration = 0

    @model_validator(mode="after")
    def _jitter_is_less(self) -> DelayParameters:
        if self.jitter > self.delay:
            raise ValueError("jitter must not be more than delay")
        return self


class PacketDelay(QueuedFault):
    """Delays arriving packets, so that every round trip takes longer by the delay."""

    does = Act.DELAYS
    summary = "delay packets that arrive at hosts, with jitter"
    parameters = DelayParameters

    def late_ns(self, parameters: DelayParameters) -> int:
        return parameters.delay + parameters.jitter

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        asked: DelayParameters = strike.parameters
        median = ping(host, nearest(peers), "-c", "7", "-i", "0.02").median_ms
        if median < 0.9 * (asked.delay - asked.jitter) / 1e6:
            raise NemesisError(
                f"{host.name}: a round trip takes {median} ms, which does not include {format_duration(asked.delay)}"
            )
        return f"a round trip takes {median:.1f} ms", {"round_trip_ms": median}


class ReorderParameters(FromPeers):
    """Holds back `percent` of the arriving packets for the time `by`, so that later packets overtake them."""

    percent: Percent = 25
    by: Duration = 20 * MILLISECOND


class PacketReorder(QueuedFault):
    """Delivers a fraction of packets late, after packets that were sent later."""

    does = Act.DROPS
    summary = "hold back a percentage of the packets that arrive at hosts, so that later ones overtake them"
    parameters = ReorderParameters

    def what(self, parameters: ReorderParameters) -> Mapping[str, object]:
        return {"reorder": parameters.percent, "by": parameters.by}

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        for _ in range(_ATTEMPTS):
            seen = _series(host, peers, strike.parameters.percent)
            if seen.late:
                return f"{seen.late} of {seen.received} replies were overtaken", {
                    "late": seen.late,
                    "of": seen.received,
                }
        raise NemesisError(f"{host.name}: all {seen.received} replies to {seen.sent} pings arrived in order")


class DuplicateParameters(FromPeers):
    """Delivers `percent` of the arriving packets twice."""

    percent: Percent = 10


class PacketDuplicate(QueuedFault):
    """Delivers a fraction of packets twice."""

    does = Act.NONE
    summary = "duplicate a percentage of the packets that arrive at hosts"
    parameters = DuplicateParameters

    def what(self, parameters: DuplicateParameters) -> Mapping[str, object]:
        return {"duplicate": parameters.percent}

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        seen = _series(host, peers, strike.parameters.percent)
        if not seen.duplicates:
            raise NemesisError(f"{host.name}: none of {seen.received} replies arrived twice")
        words = f"{seen.duplicates} of {seen.received} replies arrived twice"
        return words, {"duplicates": seen.duplicates, "of": seen.received}


class CorruptParameters(FromPeers):
    """Flips one bit, after the IP header, in `percent` of the arriving packets."""

    percent: Percent = 10


class PacketCorrupt(QueuedFault):
    """Flips one bit in a fraction of packets; the checksum of TCP, UDP or ICMP is then wrong and the kernel drops
    them."""

    does = Act.DROPS | Act.SLOWS
    summary = "flip a bit in a percentage of the packets that arrive at hosts; the kernel drops them (wrong checksum)"
    parameters = CorruptParameters

    def what(self, parameters: CorruptParameters) -> Mapping[str, object]:
        return {"corrupt": parameters.percent}

    def measure(self, strike: Strike, host: ServiceHost, peers: Peers) -> Measured:
        before = _checksum_errors(host)
        seen = _series(host, peers, strike.parameters.percent)
        errors = _checksum_errors(host) - before
        if not errors:
            raise NemesisError(f"{host.name}: no wrong checksum in the replies to {seen.sent} pings")
        return f"{errors} of {seen.sent} replies had a wrong checksum", {"corrupt": errors, "of": seen.sent}


def _series(host: ServiceHost, peers: Peers, percent: float) -> Pings:
    count = max(_PINGS_MIN, math.ceil(_EVENTS * 100 / percent))
    return ping(host, nearest(peers), "-c", str(count), "-i", "0.002")


def _checksum_errors(host: ServiceHost) -> int:
    lines = host.run(["nstat", "-asz", "IcmpInCsumErrors", "Icmp6InCsumErrors"]).out.splitlines()
    return sum(int(line.split()[1]) for line in lines if "CsumErrors" in line)


def _clean(host: ServiceHost, peers: Peers) -> str:
    seen = ping(host, nearest(peers), "-c", str(_PINGS_MIN), "-i", "0.005")
    if seen.lost or seen.duplicates or seen.late or seen.median_ms > _HEALTHY_MS:
        raise NemesisError(f"the network of {host.name} has not recovered: {seen}")
    return f"{seen.received} of {seen.sent} pings answered, once each, in order, in {seen.median_ms:.2f} ms"
