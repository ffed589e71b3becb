"""Reads the metadata of ledgers from ZooKeeper while faults are active.

Layouts: BookKeeper's `LegacyHierarchicalLedgerManager` (ledger 12 is at `/ledgers/00/0000/L0012`) and
`LedgerMetadataSerDe` version 3, whose message is `DataFormats.proto`'s `LedgerMetadataFormat`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from chaoskit.contract.systems.service import ServiceError
from clusters.storage.settings import LEDGERS
from clusters.zookeeper.server import connection
from clusters.zookeeper.tree import CONNECT_S, connected

_LOOKED_UP = "the metadata of ledgers"

_LEVELS = (re.compile(r"\d{2}"), re.compile(r"\d{4}"), re.compile(r"L\d{4}"))
_STATE, _SEGMENT, _OPEN = 5, 6, 1
_MEMBER = 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def newest_open(servers: Sequence[str]) -> tuple[int, list[str]]:
    """Return the newest ledger that is open for writing, and the bookie addresses of its current ensemble.

    Args:
        servers: addresses of the ZooKeeper servers.

    Raises:
        ServiceError: no server serves, or no ledger is open.
    """
    with connected(connection(servers), _LOOKED_UP) as client:
        for ledger, path in _newest_first(client):
            state, ensembles = parse(client.get(path)[0])
            if state == _OPEN:
                return ledger, ensembles[-1]
    raise ServiceError("no ledger is open for writing")


def stored(servers: Sequence[str], first: int) -> dict[int, set[str]]:
    """Return the addresses of the bookies that every ledger with at least this id is stored on.

    Raises:
        ServiceError: no server serves.
    """
    with connected(connection(servers), _LOOKED_UP) as client:
        paths = takewhile(lambda entry: entry[0] >= first, _newest_first(client))
        asked = [(ledger, client.get_async(path)) for ledger, path in paths]
        bookies = {}
        for ledger, answer in asked:
            with suppress(NoNodeError):  # it was deleted in between
                _, ensembles = parse(answer.get(timeout=CONNECT_S)[0])
                bookies[ledger] = {address for ensemble in ensembles for address in ensemble}
        return bookies


def next_ledger(servers: Sequence[str]) -> int:
    """Return an id greater than those of all existing ledgers; raises like `newest_open`."""
    with connected(connection(servers), _LOOKED_UP) as client:
        return max((ledger for ledger, _ in _newest_first(client)), default=-1) + 1


def parse(content: bytes) -> tuple[int, list[list[str]]]:
    """Return the state of a ledger and the addresses of its ensembles, oldest first.

    >>> parse(b"BookieMetadataFormatVersion\\t3\\n\\x0e\\x28\\x01\\x32\\x0a\\x0a\\x06b:3181\\x10\\x00")
    (1, [['b']])
    """
    message = content[content.index(b"\n") + 1 :]
    size, start = _varint(message, 0)
    state, ensembles = 0, []
    for field, value in _fields(message[start : start + size]):
        if field == _STATE and isinstance(value, int):
            state = value
        elif field == _SEGMENT and isinstance(value, bytes):
            members = [member for number, member in _fields(value) if number == _MEMBER and isinstance(member, bytes)]
            ensembles.append([member.decode().rpartition(":")[0] for member in members])
    return state, ensembles


def _newest_first(client: KazooClient) -> Iterator[tuple[int, str]]:
    """Yield ledgers and their paths, highest id first."""

    def below(path: str, level: int) -> Iterator[str]:
        if level == len(_LEVELS):
            yield path
            return
        for child in sorted(filter(_LEVELS[level].fullmatch, client.get_children(path)), reverse=True):
            yield from below(f"{path}/{child}", level + 1)

    for path in below(LEDGERS, 0):
        yield int(re.sub(r"\D", "", path.removeprefix(LEDGERS))), path


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a protobuf message; fixed-size values as bytes."""
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
    """Return the varint at an offset, and the offset after it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
