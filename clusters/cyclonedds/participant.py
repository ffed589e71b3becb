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
from clusters.common.own_network import LOOPBACK, own_network
from clusters.cyclonedds.settings import DOMAIN, LEASE_NS, PEERS, EndpointSettings, WriterSettings

_UNLIMITED = -1
"""DDS's LENGTH_UNLIMITED."""


def participant(connection: Mapping[str, Any]) -> DomainParticipant:
    """Return the participant; a process has one.

    Args:
        connection: what clients are told.
    """
    return _participant(connection[DOMAIN], own_network(connection[PEERS])[0], connection[LEASE_NS])[1]


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
    return Qos(*policies)


@lru_cache(maxsize=1)
def _participant(domain: int, address: str, lease_ns: int) -> tuple[Domain, DomainParticipant]:
    multicast = ' multicast="true"' if address == LOOPBACK else ""
    configuration = (
        "<CycloneDDS><Domain>"
        f'<General><Interfaces><NetworkInterface address="{address}"{multicast}/></Interfaces></General>'
        f"<Discovery><LeaseDuration>{lease_ns / SECOND:g}s</LeaseDuration></Discovery>"
        "</Domain></CycloneDDS>"
    )
    return Domain(domain, configuration), DomainParticipant(domain)
