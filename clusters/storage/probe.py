"""Probes one server of ZooKeeper or BookKeeper in its own protocol.

Layout: BookKeeper's protocol version 2 (`BookieProtocol`).
"""

from __future__ import annotations

import struct

from clusters.common.framing import ask
from clusters.storage.settings import BOOKIE, BOOKIE_PORT
from clusters.zookeeper.probe import zookeeper_answers

_READ_ENTRY = (2 << 24) | (2 << 16)
"""Header of a request to read one entry: protocol version, operation, no flags."""

_NO_SUCH_LEDGER = 2**62
"""An id that no ledger has; a running bookie answers that it does not exist."""


def answers(service: str, address: str, timeout_s: float) -> bool:
    """Return whether a service at this address answers in time."""
    if service != BOOKIE:
        return zookeeper_answers(address, timeout_s)
    try:
        return _bookie_answers(address, timeout_s)
    except (OSError, struct.error):
        return False


def _bookie_answers(address: str, timeout_s: float) -> bool:
    request = struct.pack(">iqq", _READ_ENTRY, _NO_SUCH_LEDGER, 0)
    response = ask(address, BOOKIE_PORT, request, timeout_s)
    (header,) = struct.unpack_from(">I", response)
    return int(header) & 0xFFFF0000 == _READ_ENTRY
