"""One question to one server of ZooKeeper or BookKeeper in its own protocol: are you there?

A client library would ask whichever server it likes, cache, retry, and wait for one that is paused;
a probe must ask this one now. Layouts: ZooKeeper's four letter words; BookKeeper's protocol version 2
(`BookieProtocol`).
"""

from __future__ import annotations

import re
import socket
import struct

from clusters.bookkeeper.settings import BOOKIE, BOOKIE_PORT, ZOOKEEPER_PORT

_READ_ENTRY = (2 << 24) | (2 << 16)
"""Header of a request to read one entry: protocol version, operation, no flags."""

_NO_SUCH_LEDGER = 2**62
"""No ledger has this id; a bookie that runs says so."""

_RESPONSE_MAX = 2**20


def answers(service: str, address: str, timeout_s: float) -> bool:
    """Return whether a service at this address answers within the time."""
    try:
        if service == BOOKIE:
            return _bookie_answers(address, timeout_s)
        return zookeeper_word(address, "ruok", timeout_s) == "imok"
    except (OSError, struct.error):
        return False


def zookeeper_word(address: str, word: str, timeout_s: float) -> str:
    """Return what a ZooKeeper server says to a four letter word.

    Raises:
        OSError: it does not answer within the time.
    """
    with connect(address, ZOOKEEPER_PORT, timeout_s) as connection:
        connection.sendall(word.encode())
        said = b""
        while chunk := connection.recv(1 << 16):
            said += chunk
    return said.decode(errors="replace")


def zookeeper_mode(address: str, timeout_s: float) -> str:
    """Return `leader`, `follower` or `standalone`; empty from a server that is not part of a quorum now.

    Raises:
        OSError: it does not answer within the time.
    """
    mode = re.search(r"^Mode: (\w+)$", zookeeper_word(address, "srvr", timeout_s), re.MULTILINE)
    return mode[1] if mode else ""


def _bookie_answers(address: str, timeout_s: float) -> bool:
    request = struct.pack(">iqq", _READ_ENTRY, _NO_SUCH_LEDGER, 0)
    response = ask(address, BOOKIE_PORT, request, timeout_s)
    (header,) = struct.unpack_from(">I", response)
    return int(header) & 0xFFFF0000 == _READ_ENTRY


def ask(address: str, port: int, request: bytes, timeout_s: float) -> bytes:
    """Send one frame and return the frame that comes back, both without their length."""
    with connect(address, port, timeout_s) as connection:
        return exchange(connection, request)


def exchange(connection: socket.socket, request: bytes) -> bytes:
    """Send one frame over a connection and return the one that comes back, both without their length.

    Raises:
        ConnectionError: it ends in the middle, or is too long to be one.
    """
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", receive(connection, 4))
    if not 0 < size < _RESPONSE_MAX:
        raise ConnectionError("the server speaks another protocol")
    return receive(connection, size)


def connect(address: str, port: int, timeout_s: float) -> socket.socket:
    """Return a connection all of whose waits end within the time."""
    connection = socket.create_connection((address, port), timeout=timeout_s)
    connection.settimeout(timeout_s)
    return connection


def receive(connection: socket.socket, size: int) -> bytes:
    """Return exactly so many bytes.

    Raises:
        ConnectionError: there are fewer.
    """
    received = b""
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionError("the connection was closed in the middle of a response")
        received += chunk
    return received
