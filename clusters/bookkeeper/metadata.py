"""The metadata of ledgers, read straight from a ZooKeeper server while the faults of a run hold.

Layouts: ZooKeeper's client protocol (`zookeeper.jute`: `ConnectRequest`, `getData` 4, `getChildren` 8); BookKeeper's
`LegacyHierarchicalLedgerManager` (ledger 12 is at `/ledgers/00/0000/L0012`) and `LedgerMetadataSerDe` version 3,
whose message is `DataFormats.proto`'s `LedgerMetadataFormat`.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator, Sequence

from chaoskit.contract.cluster import ClusterError
from clusters.bookkeeper import probe
from clusters.bookkeeper.settings import LEDGERS, ZOOKEEPER_PORT

_GET_DATA, _GET_CHILDREN = 4, 8
_CONNECT = struct.pack(">iqiqi16xb", 0, 0, 5000, 0, 16, 0)
_REPLY_HEAD = 16
"""Bytes of a reply's header: xid, zxid, error."""

_LEVELS = (re.compile(r"\d{2}"), re.compile(r"\d{4}"), re.compile(r"L\d{4}"))
_STATE, _SEGMENT, _OPEN = 5, 6, 1
_MEMBER = 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def newest_open(servers: Sequence[str], timeout_s: float) -> tuple[int, list[str]]:
    """Return the newest ledger that is open for writing, and the addresses of the bookies of its current ensemble.

    Args:
        servers: addresses of ZooKeeper; the first that serves is asked.
        timeout_s: for each answer.

    Raises:
        ClusterError: none serves, or no ledger is open.
    """
    for address in servers:
        try:
            with probe.connect(address, ZOOKEEPER_PORT, timeout_s) as connection:
                probe.exchange(connection, _CONNECT)
                for ledger, path in _newest_first(connection):
                    state, ensemble = parse(_data(connection, path))
                    if state == _OPEN:
                        return ledger, ensemble
        except (OSError, struct.error):
            continue
        raise ClusterError("no ledger is open for writing")
    raise ClusterError("no ZooKeeper server serves the metadata of ledgers")


def parse(content: bytes) -> tuple[int, list[str]]:
    """Return the state of a ledger and the addresses of its last ensemble.

    >>> parse(b"BookieMetadataFormatVersion\\t3\\n\\x0e\\x28\\x01\\x32\\x0a\\x0a\\x06b:3181\\x10\\x00")
    (1, ['b'])
    """
    message = content[content.index(b"\n") + 1 :]
    size, start = _varint(message, 0)
    state, ensemble = 0, []
    for field, value in _fields(message[start : start + size]):
        if field == _STATE and isinstance(value, int):
            state = value
        elif field == _SEGMENT and isinstance(value, bytes):
            members = [each for number, each in _fields(value) if number == _MEMBER and isinstance(each, bytes)]
            ensemble = [member.decode().rpartition(":")[0] for member in members]
    return state, ensemble


def _newest_first(connection: socket.socket) -> Iterator[tuple[int, str]]:
    """Yield ledgers and their paths, the highest id first."""

    def below(path: str, level: int) -> Iterator[str]:
        if level == len(_LEVELS):
            yield path
            return
        for child in sorted(filter(_LEVELS[level].fullmatch, _children(connection, path)), reverse=True):
            yield from below(f"{path}/{child}", level + 1)

    for path in below(LEDGERS, 0):
        yield int(re.sub(r"\D", "", path.removeprefix(LEDGERS))), path


def _data(connection: socket.socket, path: str) -> bytes:
    reply = _ask(connection, _GET_DATA, path)
    (size,) = struct.unpack_from(">i", reply)
    return reply[4 : 4 + size]


def _children(connection: socket.socket, path: str) -> list[str]:
    reply = _ask(connection, _GET_CHILDREN, path)
    (count,) = struct.unpack_from(">i", reply)
    at, names = 4, []
    for _ in range(count):
        (size,) = struct.unpack_from(">i", reply, at)
        names.append(reply[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return names


def _ask(connection: socket.socket, operation: int, path: str) -> bytes:
    """Return what follows the header of a reply.

    Raises:
        ConnectionError: the server refuses.
    """
    request = struct.pack(">iii", 1, operation, len(path)) + path.encode() + b"\0"
    reply = probe.exchange(connection, request)
    _, _, error = struct.unpack_from(">iqi", reply)
    if error:
        raise ConnectionError(f"ZooKeeper answers with error {error} for {path}")
    return reply[_REPLY_HEAD:]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a protobuf message; fixed ones as bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if size is None:
            size, at = _varint(message, at)
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at an offset, and where the next thing begins."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
