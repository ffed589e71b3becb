"""The records of Kafka's topic of commits.

Source: `OffsetCommitKey.json` and `OffsetCommitValue.json` of Apache Kafka's group coordinator, versions 0 to 4.
"""

from __future__ import annotations

import struct

from chaoskit.contract.clients.application import Progressed

_COMMIT_KEYS = (0, 1)
"""Versions of a key that say that the record is a commit."""

_FLEXIBLE = 4
"""From this version of a value on, texts have a length of variable size."""


def committed_in(key: bytes | None, value: bytes | None) -> Progressed | None:
    """Return the commit in a record; None if it is something else, or a commit that was deleted.

    >>> key = b"\\0\\1\\0\\1g\\0\\1t\\0\\0\\0\\2"
    >>> value = b"\\0\\3" + bytes(7) + b"\\5" + bytes(4) + b"\\0\\0" + (1700).to_bytes(8, "big")
    >>> committed_in(key, value)
    Progressed(group='g', place=('t', 2), next_position=5, at_ms=1700, first_position=None)
    """
    if key is None or value is None or int.from_bytes(key[:2], "big") not in _COMMIT_KEYS:
        return None
    group, rest = _text(key[2:])
    topic, rest = _text(rest)
    (partition,) = struct.unpack_from(">i", rest)
    version, position = struct.unpack_from(">hq", value)
    at = 10 + (4 if version >= 3 else 0)
    if version >= _FLEXIBLE:
        length, at = _varint(value, at)
        at += length - 1
    else:
        at += 2 + struct.unpack_from(">h", value, at)[0]
    (at_ms,) = struct.unpack_from(">q", value, at)
    return Progressed(group, (topic, partition), position, at_ms)


def _text(data: bytes) -> tuple[str, bytes]:
    length = int.from_bytes(data[:2], "big")
    return data[2 : 2 + length].decode(), data[2 + length :]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
