"""The protocol of bookies on the wire: frames of its version 3 (protobuf), or of the older ones (fixed fields).

Responses come in any order; each tells its operation and what it answers. A stand-alone module: see
`chaoskit.contract.systems.wire`. Sources: `BookkeeperProtocol.proto`, `BookieProtocol` and `BookieProtoEncoding` of
BookKeeper 4.17.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable

from chaoskit.contract.systems.wire import Header, SizePrefixed, as_varint, varint

DECODER = "clusters.bookkeeper.wire:BookieDecoder"

MESSAGES = (
    "READ_ENTRY", "ADD_ENTRY", "RANGE_READ_ENTRY", "RANGE_ADD_ENTRY", "AUTH", "WRITE_LAC", "READ_LAC",
    "GET_BOOKIE_INFO", "START_TLS", "FORCE_LEDGER", "GET_LIST_OF_ENTRIES_OF_LEDGER", "BATCH_READ_ENTRY",
)  # fmt: skip
"""The operations of version 3 in the order of their numbers, from 1."""

_OLD = ("ADD_ENTRY", "READ_ENTRY", "AUTH", "READ_LAC", "WRITE_LAC", "GET_BOOKIE_INFO", "BATCH_READ_ENTRY")
"""The operations of older versions in the same way."""

_ASKED_ENTRY = {"ADD_ENTRY": 36, "READ_ENTRY": 16, "BATCH_READ_ENTRY": 16}
_ANSWERED_ENTRY = dict.fromkeys(_ASKED_ENTRY, 20)
"""Where older versions have the id of the entry."""

_ERRORS = {
    "EBADREQ": (404, 100), "EIO": (501, 101), "EUA": (502, 102), "EFENCED": (504, 104), "EREADONLY": (505, 105),
    "ETOOMANYREQUESTS": (506, 106),
}  # fmt: skip
"""Codes of errors in version 3, and in older ones."""

REFUSABLE = dict.fromkeys(("ADD_ENTRY", "READ_ENTRY"), tuple(_ERRORS))
"""See `chaoskit.contract.systems.wire.Wire`."""

_STATUS_FIELD = 0x10
"""The first byte of the status of a response of version 3, which follows its header."""

_OLD_STATUS = struct.Struct(">i")
_OLD_STATUS_AT = 8

_OLD_VERSION_MAX = 2
_HEADER_FIELD = 0x0A
"""The first byte of a message of version 3; of an older one it is the version."""

_VERSION, _OPERATION, _TRANSACTION = 1, 2, 3
"""Fields of a header of version 3."""

_ENTRY = struct.Struct(">q")
_BEGIN = 4
_KIND_SIZE = 4


class BookieDecoder(SizePrefixed):
    """See `chaoskit.contract.systems.wire.Decoder`. The correlation is the id of the transaction, in older versions
    that of the entry, which an entry of another ledger may have too."""

    head = 64
    size_min = _KIND_SIZE

    def request(self, head: bytes) -> Header | None:
        return _header(head, _ASKED_ENTRY)

    def response(self, head: bytes) -> Header | None:
        return _header(head, _ANSWERED_ENTRY)

    def pair(self, header: Header, head: bytes, *, answers: bool) -> Hashable | None:
        """See `chaoskit.contract.systems.wire.Pairing`."""
        if head[_BEGIN] == _HEADER_FIELD:
            return header.correlation
        at = (_ANSWERED_ENTRY if answers else _ASKED_ENTRY).get(header.message, len(head))
        return (header.message, head[at - _ENTRY.size : at + _ENTRY.size]) if at < len(head) else None

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        code, old_code = _ERRORS[error]
        if response[_BEGIN] != _HEADER_FIELD:
            behind = response[_OLD_STATUS_AT + _OLD_STATUS.size :]
            return response[:_OLD_STATUS_AT] + _OLD_STATUS.pack(old_code) + behind
        at = _BEGIN + 2 + response[_BEGIN + 1]
        if response[at : at + 1] != bytes([_STATUS_FIELD]):
            raise ValueError("a response without a status behind its header")
        _, end = varint(response, at + 1)
        return self.framed(response[_BEGIN : at + 1] + as_varint(code) + response[end:])


def _header(head: bytes, entries: dict[str, int]) -> Header | None:
    if len(head) < _BEGIN + _KIND_SIZE:
        return None
    return _new(head) if head[_BEGIN] == _HEADER_FIELD else _old(head, entries)


def _old(head: bytes, entries: dict[str, int]) -> Header | None:
    """Return the header of an older version; version 0 has its operation elsewhere."""
    version = head[_BEGIN]
    operation = head[_BEGIN + 1] if version else head[_BEGIN + 3]
    if version > _OLD_VERSION_MAX or not 0 < operation <= len(_OLD):
        return None
    name = _OLD[operation - 1]
    at = entries.get(name, len(head))
    entry: int = _ENTRY.unpack_from(head, at)[0] if at + _ENTRY.size <= len(head) else 0
    return Header(name, entry, version=version)


def _new(head: bytes) -> Header | None:
    """Return the header of version 3: numbers only, in fewer than 128 bytes."""
    at = _BEGIN + 2
    end = at + head[at - 1]
    fields = {}
    try:
        while at < end:
            key, at = varint(head, at)
            fields[key >> 3], at = varint(head, at)
    except IndexError:
        return None
    operation = fields.get(_OPERATION, 0)
    if not 0 < operation <= len(MESSAGES):
        return None
    return Header(MESSAGES[operation - 1], fields.get(_TRANSACTION, 0), version=fields.get(_VERSION, 0))
