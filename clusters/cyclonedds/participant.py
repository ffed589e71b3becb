"""This process's participant of a domain, and the quality of service of its entities.

It takes part on one network only: that of the lab, or loopback. Without that, it would call peers on every network
of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant

from chaoskit.base.quantities import SECOND
from clusters.common.client_names import index_of
from clusters.common.own_network import LOOPBACK, own_network
from clusters.cyclonedds.settings import DISCOVERY, DOMAIN, LEASE_NS, PEERS, EndpointSettings, WriterSettings

_UNLIMITED = -1
"""DDS's LENGTH_UNLIMITED."""

_INFINITE = 2**63 - 1
"""DDS's DURATION_INFINITE."""

_STRONGEST = 1_000_000
_PARTICIPANTS_MAX = 32
"""How many participants of one host are called at most."""


def participant(connection: Mapping[str, Any]) -> DomainParticipant:
    """Return the participant; a process has one.

    Args:
        connection: what clients are told.
    """
    called = tuple(connection[PEERS]) if connection[DISCOVERY] == "peers" else ()
    return _participant(connection[DOMAIN], own_network(connection[PEERS])[0], connection[LEASE_NS], called)[1]


def qos_of(settings: EndpointSettings, name: str = "") -> Qos:
    """Return the quality of service of a writer or a reader; `name`: what its peers shall know it by."""
    last = settings.history == "keep-last"
    blocking = settings.max_blocking if isinstance(settings, WriterSettings) else 0
    history = Policy.History.KeepLast(settings.depth) if last else Policy.History.KeepAll
    policies = [
        Policy.Reliability.Reliable(blocking) if settings.qos == "reliable" else Policy.Reliability.BestEffort,
        history,
        Policy.Durability.Volatile if settings.durability == "volatile" else Policy.Durability.TransientLocal,
        Policy.Userdata(name.encode()),
    ]
    if isinstance(settings, WriterSettings) and settings.durability_service == "history":
        policies.append(Policy.DurabilityService(0, history, _UNLIMITED, _UNLIMITED, _UNLIMITED))
    lease = settings.liveliness_lease or _INFINITE
    manual = settings.liveliness == "manual-by-topic"
    policies.append(Policy.Liveliness.ManualByTopic(lease) if manual else Policy.Liveliness.Automatic(lease))
    policies.append(Policy.Deadline(settings.deadline or _INFINITE))
    if settings.ownership == "exclusive":
        policies.append(Policy.Ownership.Exclusive)
        if isinstance(settings, WriterSettings):
            policies.append(Policy.OwnershipStrength(_strength(name)))
    return Qos(*policies)


def _strength(name: str) -> int:
    """Return the strength of a client's writers: the lower the number at the end of its name, the stronger; the
    strongest is that of the final read, which has none."""
    index = index_of(name)
    return _STRONGEST if index is None else _STRONGEST - index - 1


@lru_cache(maxsize=1)
def _participant(domain: int, address: str, lease_ns: int, called: tuple[str, ...]) -> tuple[Domain, DomainParticipant]:
    multicast = ' multicast="true"' if address == LOOPBACK else ""
    general = f'<Interfaces><NetworkInterface address="{address}"{multicast}/></Interfaces>'
    discovery = f"<LeaseDuration>{lease_ns / SECOND:g}s</LeaseDuration>"
    if called:
        peers = "".join(f'<Peer address="{peer}"/>' for peer in called)
        general += "<AllowMulticast>false</AllowMulticast>"
        discovery += f"<MaxAutoParticipantIndex>{_PARTICIPANTS_MAX}</MaxAutoParticipantIndex><Peers>{peers}</Peers>"
    configuration = (
        f"<CycloneDDS><Domain><General>{general}</General><Discovery>{discovery}</Discovery></Domain></CycloneDDS>"
    )
    return Domain(domain, configuration), DomainParticipant(domain)
