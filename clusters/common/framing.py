"""One question to one server in a protocol of frames: four bytes of length, then the content.

A client library would ask whichever server it likes, cache, retry, and wait for one that is paused; a probe must ask
this one now.
"""

from __future__ import annotations

import socket
import struct

_FRAME_MAX = 64 * 2**20


def ask(address: str, port: int, request: bytes, timeout_s: float) -> bytes:
    """Send one frame and return the frame that comes back, both without their length.

    Raises:
        OSError: the server does not answer within the time, or speaks another protocol.
    """
    with connect(address, port, timeout_s) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _receive(connection, 4))
        if not 0 < size < _FRAME_MAX:
            raise ConnectionError(f"{address}:{port} speaks another protocol")
        return _receive(connection, size)


def connect(address: str, port: int, timeout_s: float) -> socket.socket:
    """Return a connection all of whose waits end within the time."""
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
