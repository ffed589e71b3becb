"""The parts of a target that a fault occupies: faults that share no part may hold at once on one target."""

from __future__ import annotations

from enum import StrEnum


class HostPart(StrEnum):
    """A part of a host, or a client.

    `PROCESSES`: whether the system's processes run. `INCOMING`, `OUTGOING`: the packets that arrive at a host, or leave
    it. `CONNECTIONS`: its TCP connections. `DISK`: the data disk that the fault's parameters name. `CLOCK`: its wall
    clock. `POWER`: whether it runs at all; a fault that occupies it boots the host. `RESOURCES`: its processor time,
    memory and files. `CLIENT`: the process of a client.
    """

    PROCESSES = "processes"
    INCOMING = "incoming"
    OUTGOING = "outgoing"
    CONNECTIONS = "connections"
    DISK = "disk"
    CLOCK = "clock"
    POWER = "power"
    RESOURCES = "resources"
    CLIENT = "client"


EVERYTHING = frozenset(HostPart)
NETWORK = frozenset({HostPart.INCOMING, HostPart.OUTGOING, HostPart.CONNECTIONS})
