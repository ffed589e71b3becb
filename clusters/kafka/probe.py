"""The smallest question that a Kafka broker answers: ApiVersions, version 0, in its wire protocol.

Used to see whether a broker is alive, paused or gone. A client library would retry, cache and ask
another broker; a probe must not. Layout: Kafka protocol guide, request header version 1.
"""

from __future__ import annotations

import socket
import struct

_API_VERSIONS = 18
_REQUEST = struct.pack(">ihhih", 10, _API_VERSIONS, 0, 1, -1)
"""Size, API key, API version, correlation id 1, null client id."""


def answers(address: str, port: int, timeout_s: float) -> bool:
    """Return whether the node at this address answers within the time."""
    try:
        with socket.create_connection((address, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(_REQUEST)
            response = connection.recv(8)
    except OSError:
        return False
    return len(response) == 8 and struct.unpack(">i", response[4:])[0] == 1
