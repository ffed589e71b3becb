"""Probes one server of ZooKeeper or BookKeeper in its own protocol.

Layouts: ZooKeeper's four letter words; BookKeeper's protocol version 2
(`BookieProtocol`).
"""

from __future__ import annotations

import re
import struct

from clusters.common.framing import ask, connect
from clusters.storage.settings import BOOKIE, BOOKIE_PORT, ZOOKEEPER_PORT

_READ_ENTRY = (2 << 24) | (2 << 16)
"""Header of a request to read one entry: protocol version, operation, no flags."""

_NO_SUCH_LEDGER = 2**62
"""An id that no ledger has; a running bookie answers that it does not exist."""


def answers(service: str, address: str, timeout_s: float) -> bool:
    """Return whether a service at this address answers in time."""
    try:
        if service == BOOKIE:
            return _bookie_answers(address, timeout_s)
        return zookeeper_word(address, "ruok", timeout_s) == "imok"
    except (OSError, struct.error):
        return False


def zookeeper_word(address: str, word: str, timeout_s: float) -> str:
    """Return a ZooKeeper server's response to a four-letter word.

    Raises:
        OSError: it does not answer in time.
    """
    with connect(address, ZOOKEEPER_PORT, timeout_s) as connection:
        connection.sendall(word.encode())
        said = b""
        while chunk := connection.recv(1 << 16):
            said += chunk
    return said.decode(errors="replace")


def zookeeper_mode(address: str, timeout_s: float) -> str:
    """Return `leader`, `follower` or `standalone`; empty if the server is currently not part of a quorum.

    Raises:
        OSError: it does not answer in time.
    """
    mode = re.search(r"^Mode: (\w+)$", zookeeper_word(address, "srvr", timeout_s), re.MULTILINE)
    return mode[1] if mode else ""


def _bookie_answers(address: str, timeout_s: float) -> bool:
    request = struct.pack(">iqq", _READ_ENTRY, _NO_SUCH_LEDGER, 0)
    response = ask(address, BOOKIE_PORT, request, timeout_s)
    (header,) = struct.unpack_from(">I", response)
    return int(header) & 0xFFFF0000 == _READ_ENTRY
