"""One request to one server in a framed protocol: four bytes of length, followed by the content.

A client library may choose another server, cache, retry, or wait for a paused server; a probe must query this server
now.
"""

from __future__ import annotations

import socket
import struct

_FRAME_MAX = 64 * 2**20


def ask(address: str, port: int, request: bytes, timeout_s: float) -> bytes:
    """Send one frame and return the response frame, both without the length.

    Raises:
        OSError: the server does not answer in time, or uses another protocol.
    """
    with connect(address, port, timeout_s) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _receive(connection, 4))
        if not 0 < size < _FRAME_MAX:
            raise ConnectionError(f"{address}:{port} uses another protocol")
        return _receive(connection, size)


def connect(address: str, port: int, timeout_s: float) -> socket.socket:
    """Return a connection with this timeout for all operations."""
    connection = socket.create_connection((address, port), timeout=timeout_s)
    connection.settimeout(timeout_s)
    return connection


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionError("the connection was closed in the middle of a response")
        received += chunk
    return received
