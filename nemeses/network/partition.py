"""Partitions: packets between hosts, or hosts and clients, are dropped or rejected, both ways or one way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import HostNames, Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import HostError, ServiceHost
from nemeses.beside import others, prove_healed
from nemeses.holding import check_held, hold, release
from nemeses.network.firewall import DROP, REJECT, FirewallRules, check_gone, counted
from nemeses.network.peers import HARNESS, Direction, PeerNames, Peers, Ports, multicasts, paths
from nemeses.network.probes import Pair, both_families, knock, reached, unreached
from nemeses.network.shapes import Cuts, Shape, cuts_around_targets, cuts_between, cuts_of_shape

_DISCARD = 9
"""The port that a probe from outside contacts if the partition covers all ports."""


@dataclass(slots=True)
class _Cut:
    """What was cut off when the fault was injected.

    Attributes:
        cuts: for each host with rules, the peers that it is cut off from.
        deaf: for each host those of which it must not hear what they send by multicast.
        probed: by host, how many packets were blocked when the fault was proved; None before.
        crossed: what the system sent until it was healed, in words; None before.
    """

    cuts: Cuts = field(default_factory=dict)
    deaf: Mapping[ServiceHost, Sequence[ServiceHost]] = field(default_factory=dict)
    probed: Mapping[ServiceHost, Mapping[str, int]] = field(default_factory=dict)
    crossed: str | None = None


class PartitionParameters(BaseModel):
    """What is cut off.

    Attributes:
        peers: the other side: `all` (everyone else), `hosts` (of the cluster), `clients` (everyone except hosts),
            host names or roles, resolved at injection.
        direction: direction of the blocked packets, from the targets' perspective; `in` does not affect outgoing ones.
        how: `drop` packets silently, or `reject` them with a TCP reset or ICMP error.
        ports: block only TCP and UDP packets from or to these ports; all packets if empty.
        shape: `isolate` the targets together, or `each` alone; `halves`, `majorities-ring` and `bridge` divide the
            cluster's hosts regardless of targets and peers.
        groups: instead of a shape: groups of host names or roles that are cut off from each other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    peers: PeerNames = ["all"]
    direction: Direction = "both"
    how: Literal["drop", "reject"] = "drop"
    ports: Ports = []
    shape: Shape = "isolate"
    groups: Annotated[Annotated[list[list[str]], Field(min_length=2)] | None, HostNames()] = None

    @property
    def divides(self) -> bool:
        """Whether it divides the cluster's hosts, regardless of targets."""
        return self.groups is not None or self.shape not in ("isolate", "each")

    @model_validator(mode="after")
    def _one_way_has_a_side(self) -> PartitionParameters:
        if self.divides and (self.direction != "both" or "peers" in self.model_fields_set):
            raise ValueError("direction and peers require shape: isolate or each; remove them")
        named = [name for group in self.groups or () for name in group]
        if twice := next((name for name in named if named.count(name) > 1), ""):
            raise ValueError(f"{twice} is in two groups; a host is on one side")
        if self.groups is not None and "shape" in self.model_fields_set:
            raise ValueError("specify either shape or groups")
        return self


class Partition(Nemesis):
    """Blocks packets between the sides; existing connections stay open until a side notices."""

    summary = "cut hosts off from others: both ways or one way, all ports or some, silently or with resets"
    family = "network"
    does = Act.CUTS
    on_links = True
    held = True
    tools = ("nft", "ping")
    parameters = PartitionParameters

    def occupies(self, parameters: PartitionParameters) -> Collection[HostPart]:
        return paths(parameters.direction)

    def peers(self, parameters: PartitionParameters) -> Sequence[str]:
        return ("hosts",) if parameters.divides else parameters.peers

    def carriers(self, strike: Strike) -> Sequence[ServiceHost]:
        return _touched(strike)

    def struck(self, strike: Strike) -> Sequence[ServiceHost]:
        return _touched(strike) if strike.parameters.divides else strike.hosts

    def renew(self, strike: Strike, booted: Sequence[ServiceHost]) -> None:
        on_each(booted, lambda host: hold(strike, host, *_scripts(strike, host)))

    def inject(self, strike: Strike) -> None:
        cut = strike.kept(_Cut)
        cut.cuts = _cuts(strike)
        cut.deaf = _deaf(cut.cuts, strike)
        on_each(_touched(strike), lambda host: hold(strike, host, *_scripts(strike, host)))

    def verify(self, strike: Strike) -> Evidence:
        cuts = strike.kept(_Cut).cuts
        if not cuts:
            raise NemesisError("nothing was cut off")
        asked: PartitionParameters = strike.parameters
        blocked = [pair for pair in _blocked(cuts) if not strike.is_dark(pair[0])]
        port = asked.ports[0] if asked.ports else None
        for host in (host for host, peers in cuts.items() if peers.clients):
            knock(host, port or _DISCARD)
        if passed := reached(blocked, port):
            raise NemesisError(f"{_words(strike, passed)} should be cut off, but got through")
        open_pairs = [pair for pair in _pairs(strike) if pair not in blocked and not _is_cut_by_others(strike, pair)]
        if shut := unreached(open_pairs):
            raise NemesisError(f"{_words(strike, shut)} should not be cut off, but does not get through")
        counts = _counts(strike, _touched(strike))
        for host, count in ((host, counts[host]) for host in cuts):
            # Nothing arrives from a peer that has rules of its own and blocks what it sends.
            sending = cuts[host].clients or asked.direction == "in" or any(p not in cuts for p in cuts[host].hosts)
            for way in ["in"] * sending + ["out"]:
                if asked.direction in (way, "both") and not count.get(f"hit_{way}"):
                    raise NemesisError(f"no packet in direction {way} was blocked on {host.name}: {count}")
        strike.kept(_Cut).probed = counts
        stopped = ", ".join(
            f"{host.name} from {', '.join(cuts[host].names())} "
            f"({counts[host].get('hit_in', 0)} packets in and {counts[host].get('hit_out', 0)} out blocked)"
            for host in cuts
        )
        return Evidence(
            f"cut off: {stopped}; 0 of {len(blocked)} probes passed, {len(open_pairs)} of {len(open_pairs)} others did",
            {host.name: {"cut_from": list(cuts[host].names()), **counts[host]} for host in cuts},
        )

    def heal(self, strike: Strike) -> None:
        cut = strike.kept(_Cut)
        if cut.crossed is None:
            cut.crossed = _crossed(strike)
        release(strike, _touched(strike))

    def verify_healed(self, strike: Strike) -> Evidence:
        on_each(_touched(strike), lambda host: check_gone(host, _table(strike)))
        reached_again = prove_healed(strike, strike.lab, lambda: _prove_reached(strike))
        check_held(strike)
        return Evidence(f"{strike.kept(_Cut).crossed or ''}{reached_again}")


def _prove_reached(strike: Strike) -> str:
    pairs = _pairs(strike)
    if shut := unreached(pairs):
        raise NemesisError(f"{_words(strike, shut)} still does not get through")
    return f"all {len(pairs)} pairs reach each other again"


def _crossed(strike: Strike) -> str:
    """Return how many packets were blocked since the fault was proved, which its probes did not send; empty if
    unknown."""
    probed = strike.kept(_Cut).probed
    try:
        now = _counts(strike, list(probed))
    except HostError:
        return ""
    if not all(now.values()):
        return ""
    since = sum(
        now[host].get(way, 0) - counts.get(way, 0) for host, counts in probed.items() for way in ("hit_in", "hit_out")
    )
    if not since:
        return "NO TRAFFIC of the system was blocked; "
    return f"{since:,} packets of the system were blocked; "


def _counts(strike: Strike, hosts: Sequence[ServiceHost]) -> dict[ServiceHost, dict[str, int]]:
    return dict(zip(hosts, on_each(hosts, lambda host: counted(host, _table(strike))), strict=True))


def _deaf(cuts: Cuts, strike: Strike) -> dict[ServiceHost, list[ServiceHost]]:
    """Return for each host those of which it must not hear what they send by multicast, and which it cannot be cut off
    from elsewhere: hosts that are not cut off from everybody, and have joined a multicast group."""
    asked: PartitionParameters = strike.parameters
    some = [host for host, peers in cuts.items() if not peers.clients and asked.direction != "in"]
    joined = zip(some, on_each(some, multicasts), strict=True)
    deaf: dict[ServiceHost, list[ServiceHost]] = {}
    for sender in (host for host, groups in joined if groups):
        for peer in cuts[sender].hosts:
            if not strike.is_dark(peer):
                deaf.setdefault(peer, []).append(sender)
    return deaf


def _cuts(strike: Strike) -> Cuts:
    asked: PartitionParameters = strike.parameters
    if asked.groups is not None:
        return cuts_between([[host for name in group for host in strike.resolve(name)] for group in asked.groups])
    if asked.shape in ("isolate", "each"):
        return cuts_around_targets(strike, asked.peers, together=asked.shape == "isolate")
    return cuts_of_shape(asked.shape, strike.lab, strike.seed)


def _table(strike: Strike) -> str:
    return f"chaoskit_{strike.name}"


def _scripts(strike: Strike, host: ServiceHost) -> tuple[str, str]:
    asked: PartitionParameters = strike.parameters
    statements, cut = DROP if asked.how == "drop" else REJECT, strike.kept(_Cut)
    rules = FirewallRules(
        _table(strike),
        cut.cuts.get(host, Peers((), clients=False)),
        arriving=statements if asked.direction != "out" and host in cut.cuts else (),
        leaving=statements if asked.direction != "in" and host in cut.cuts else (),
        ports=asked.ports,
        rejects=asked.how == "reject",
        deaf_to=cut.deaf.get(host, ()),
    )
    return rules.act(strike.lab), rules.undo()


def _touched(strike: Strike) -> list[ServiceHost]:
    """Return the hosts that may have rules; all hosts if nothing is known of the injection."""
    cut = strike.kept(_Cut)
    return list(dict.fromkeys([*cut.cuts, *cut.deaf])) if cut.cuts else list(strike.lab)


def _pairs(strike: Strike) -> list[Pair]:
    """Return the probes between the hosts with rules and everyone else."""
    cuts = strike.kept(_Cut).cuts
    pairs = []
    for host in strike.lab:
        pairs.append((host, HARNESS))
        for peer in strike.lab:
            if peer is not host and (host in cuts or peer in cuts or len(strike.lab) <= 5):
                pairs += both_families(host, peer)
    return pairs


def _is_cut_by_others(strike: Strike, pair: Pair) -> bool:
    """Return whether another fault of the network or the power holds on a host of a pair."""
    host, address = pair
    ends = [host, *(peer for peer in strike.lab if address in (peer.address, peer.address6))]
    return any(others(strike, end, HostPart.INCOMING, HostPart.OUTGOING) or strike.is_dark(end) for end in ends)


def _blocked(cuts: Cuts) -> list[Pair]:
    """Return the probes that the cuts must block; a probe needs both directions."""
    blocked: list[Pair] = []
    for host, peers in cuts.items():
        for peer in peers.hosts:
            blocked += both_families(host, peer) + both_families(peer, host)
        if peers.clients:
            blocked.append((host, HARNESS))
    return list(dict.fromkeys(blocked))


def _words(strike: Strike, pairs: set[tuple[str, str]]) -> str:
    names = {address: host.name for host in strike.lab for address in (host.address, host.address6)}
    return ", ".join(f"{host} to {names.get(address, address)} ({address})" for host, address in sorted(pairs))
