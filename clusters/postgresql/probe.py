"""Whether a server takes connections: it answers a start-up message (PostgreSQL documentation, Message Flow)."""

from __future__ import annotations

import socket
import struct

from clusters.postgresql.settings import PORT, USER

_PROTOCOL = 3 << 16
_AUTHENTICATION = b"R"
_TERMINATE = struct.pack("!ci", b"X", 4)


def answers(address: str, timeout_s: float) -> bool:
    """Return whether the server at this address lets the user in in time; one that still recovers refuses that."""
    body = struct.pack("!i", _PROTOCOL) + f"user\0{USER}\0database\0postgres\0\0".encode()
    try:
        with socket.create_connection((address, PORT), timeout=timeout_s) as probe:
            probe.settimeout(timeout_s)
            probe.sendall(struct.pack("!i", len(body) + 4) + body)
            answer = probe.recv(1)
            probe.sendall(_TERMINATE)
    except OSError:
        return False
    return answer == _AUTHENTICATION
