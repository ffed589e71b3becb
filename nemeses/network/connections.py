"""Faults of TCP connections: reset at both ends, or lost at one end only. `ss -K` closes them in the kernel."""

from __future__ import annotations

import socket
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from nemeses.holding import check_held, hold, release
from nemeses.network.firewall import FirewallRules, check_gone, counted
from nemeses.network.peers import PeerNames, Peers, Ports, addresses, find_peers

_SSH = 22
_NOT_OURS = "not sport = :'${SSH_CONNECTION##* }'"
"""Leaves the harness's connection alone; the quotes end and begin again those of the command."""

_PROBE_S = 0.5
_NO_RST = ("tcp flags & rst == rst counter name {hit} drop",)

Ends = tuple[str, str]
"""Local and peer address, each with its port."""


@dataclass(slots=True)
class _Ended:
    """By host: the connections that were ended, its peers, and the open probe from the clients' side, if there is
    one."""

    ends: dict[str, list[Ends]] = field(default_factory=dict)
    peers: dict[str, Peers] = field(default_factory=dict)
    probes: dict[str, socket.socket] = field(default_factory=dict)


class ConnectionParameters(BaseModel):
    """Connections with `peers` (`all`, `hosts`, `clients`, host names, roles), from or to `ports` (all if empty)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    peers: PeerNames = ["all"]
    ports: Ports = []


class ResetConnections(Nemesis):
    """Both ends notice immediately: programs on the target get an error, the peers an RST."""

    summary = "reset the established TCP connections between hosts and their peers"
    family = "network"
    does = Act.BREAKS
    on_links = True
    held = True
    tools = ("ss",)
    parameters = ConnectionParameters
    lasts = False

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.CONNECTIONS}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            peers = _prepare(strike, host)
            strike.kept(_Ended).ends[host.name] = _ends(bash(host, _kill(strike, peers)).out)

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        return Evidence.of_all(on_each(strike.hosts, lambda host: _prove_ended(strike, host, _was_reset)))

    def heal(self, strike: Strike) -> None:
        for host in strike.hosts:
            if (probe := strike.kept(_Ended).probes.pop(host.name, None)) is not None:
                probe.close()

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence("new connections were always possible")


class HalfOpen(Nemesis):
    """The target drops its connections, and its RSTs are lost: for the peers they stay open until a timeout."""

    summary = (
        "drop established TCP connections only at the hosts' end, as a machine crash does; for peers they stay open"
    )
    family = "network"
    does = Act.BREAKS
    on_links = True
    renews = False
    held = True
    tools = ("ss", "nft")
    parameters = ConnectionParameters

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.CONNECTIONS, HostPart.OUTGOING}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            peers = _prepare(strike, host)
            rules = _silence(strike, peers)
            act = f"{{ {rules.act(strike.lab)} }} || exit\n{_kill(strike, peers)}"
            strike.kept(_Ended).ends[host.name] = _ends(hold(strike, host, act, rules.undo()))

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        evidence: list[Evidence] = on_each(strike.hosts, lambda host: _prove_ended(strike, host, _still_believes))
        for host in strike.hosts:
            swallowed = counted(host, f"chaoskit_{strike.name}").get("hit_out", 0)
            if not swallowed:
                raise NemesisError(f"no RST of {host.name} was lost")
            sentence = f"{swallowed} RSTs of {host.name} lost; {_orphans(strike, host)}"
            evidence.append(Evidence(sentence, {host.name: {"resets_lost": swallowed}}))
        return Evidence.of_all(evidence)

    def heal(self, strike: Strike) -> None:
        release(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        evidence = ["RSTs are delivered again"]
        for host in strike.hosts:
            check_gone(host, f"chaoskit_{strike.name}")
            if (probe := strike.kept(_Ended).probes.pop(host.name, None)) is not None:
                with probe:
                    probe.sendall(b"\n")
                    evidence.append(_was_reset(host, probe))
        check_held(strike)
        return Evidence("; ".join(evidence))


def _prepare(strike: Strike, host: ServiceHost) -> Peers:
    """Resolve the peers; open a probe connection from the clients' side, which will be affected too."""
    peers = find_peers(strike, strike.parameters.peers, [host])
    if peers.clients:
        listening = {int(line.split()[3].rsplit(":", 1)[1]) for line in host.run(["ss", "-Hltn"]).out.splitlines()}
        for port in sorted(listening - {_SSH} & set(strike.parameters.ports or listening)):
            try:
                strike.kept(_Ended).probes[host.name] = socket.create_connection((host.address, port), _PROBE_S)
            except OSError:
                continue
            break
    strike.kept(_Ended).peers[host.name] = peers
    return peers


def _kill(strike: Strike, peers: Peers) -> str:
    """Return the command that closes the connections and prints them."""
    ends = [f"dst {_bracketed(address)}" for own in addresses(peers.hosts).values() for address in own]
    if peers.clients:
        strangers = [f"not dst {_bracketed(address)}" for own in addresses(strike.lab).values() for address in own]
        ends.append(f"( {' and '.join(strangers)} )")
    ports = [f"sport = :{port} or dport = :{port}" for port in strike.parameters.ports]
    conditions = [f"( {' or '.join(ends)} )", _NOT_OURS, *([f"( {' or '.join(ports)} )"] if ports else [])]
    return f"ss -HtnK state established '{' and '.join(conditions)}'"


def _silence(strike: Strike, peers: Peers) -> FirewallRules:
    return FirewallRules(f"chaoskit_{strike.name}", peers, leaving=_NO_RST, ports=strike.parameters.ports)


def _ends(listing: str) -> list[Ends]:
    """Return the connections listed by `ss`; IPv4-mapped IPv6 addresses as IPv4."""
    lines = [line.replace("[::ffff:", "").replace("]", "").replace("[", "").split() for line in listing.splitlines()]
    return [(fields[-2], fields[-1]) for fields in lines if len(fields) >= 4]


def _established(host: ServiceHost) -> set[Ends]:
    return set(_ends(host.run(["ss", "-Htn", "state", "established"]).out))


def _prove_ended(strike: Strike, host: ServiceHost, of_probe: object) -> Evidence:
    ended = strike.kept(_Ended).ends[host.name]
    if not ended:
        raise NemesisError(f"{host.name} had no established connection with {strike.parameters.peers}")
    if left := _established(host) & set(ended):
        raise NemesisError(f"{host.name} still has {len(left)} of {len(ended)} connections: {sorted(left)[0]}")
    probe = strike.kept(_Ended).probes.get(host.name)
    seen = of_probe(host, probe) if probe is not None and callable(of_probe) else "no port accepted a probe connection"
    return Evidence(f"{host.name} lost {len(ended)} connections; {seen}", {host.name: {"connections": len(ended)}})


def _was_reset(host: ServiceHost, probe: socket.socket) -> str:
    probe.settimeout(_PROBE_S)
    try:
        received = probe.recv(1)
    except ConnectionResetError:
        return f"a client's connection to {host.name} was reset"
    except TimeoutError:
        raise NemesisError(f"a client's connection to {host.name} is still open") from None
    raise NemesisError(f"a client's connection to {host.name} was not reset: it read {received!r}")


def _still_believes(host: ServiceHost, probe: socket.socket) -> str:
    probe.settimeout(0.1)
    try:
        received = probe.recv(1)
    except TimeoutError:
        return f"a client's connection to {host.name} is still open at its end"
    except ConnectionResetError:
        raise NemesisError(f"a client's connection to {host.name} was reset, not left half-open") from None
    raise NemesisError(f"a client's connection to {host.name} was closed: it read {received!r}")


def _orphans(strike: Strike, host: ServiceHost) -> str:
    """Return how many of the connections are still open at peers that are hosts.

    Raises:
        NemesisError: there were some, and none of them is open.
    """
    ended = {(peer, local) for local, peer in strike.kept(_Ended).ends[host.name]}
    hosts = strike.kept(_Ended).peers[host.name].hosts
    theirs = {ends for ends in ended if ends[0].rsplit(":", 1)[0] in {host.address for host in hosts}}
    kept = theirs & set().union(*map(_established, hosts))
    if theirs and not kept:
        raise NemesisError(f"none of {len(theirs)} connections with {host.name} is still open at its peers")
    return f"{len(kept)} of {len(theirs)} connections with it are still open at its peers"


def _bracketed(address: str) -> str:
    """Return an address in the syntax of `ss`."""
    return f"[{address}]" if ":" in address else address
