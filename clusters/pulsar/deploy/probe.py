"""Probes one Pulsar process in its own protocol.

ZooKeeper and bookies are probed by `clusters.storage.probe`. Layout: Pulsar's binary protocol (`PulsarApi.proto`,
`CommandConnect` 2 and `CommandConnected` 3).
"""

from __future__ import annotations

import struct

from clusters.common.framing import ask
from clusters.pulsar.settings import BROKER, BROKER_PORT
from clusters.storage import probe

_CONNECT, _CONNECTED = 2, 3
_PROTOCOL_VERSION = 19


def answers(service: str, address: str, timeout_s: float) -> bool:
    """Return whether a service at this address answers in time."""
    if service != BROKER:
        return probe.answers(service, address, timeout_s)
    try:
        return _broker_answers(address, timeout_s)
    except (OSError, struct.error):
        return False


def _broker_answers(address: str, timeout_s: float) -> bool:
    name = b"chaoskit"
    connect = b"\x0a" + bytes([len(name)]) + name + b"\x20" + bytes([_PROTOCOL_VERSION])
    command = b"\x08" + bytes([_CONNECT]) + b"\x12" + bytes([len(connect)]) + connect
    response = ask(address, BROKER_PORT, struct.pack(">i", len(command)) + command, timeout_s)
    return response[4:6] == b"\x08" + bytes([_CONNECTED])
