"""The payload of a message, which identifies the message and detects corruption.

Layout, little endian: magic u32, run u64, value i64 (producer << 40 | sequence), intended and actual
send time i64 (CLOCK_MONOTONIC, ns), CRC32C u32 of everything else, then padding up to the declared size.
"""

from __future__ import annotations

import os
import struct

from google_crc32c import extend
from google_crc32c import value as crc32c

_MAGIC = 0x314B4843  # "CHK1"
_HEAD = struct.Struct("<IQqqq")
_PREFIX = struct.Struct("<IQ")
_CHECK = struct.Struct("<I")
_WHOLE = struct.Struct("<IQqqqI")

SIZE_MIN = _WHOLE.size
"""Size of the header in bytes; a message cannot be smaller."""

OK, CORRUPT, FOREIGN = range(3)
"""Payload codes: indexes into `chaoskit.model.message.PAYLOADS`."""

NO_VALUE = -1
"""Value and times of a message with an invalid header."""


def prefix(run_id: int) -> bytes:
    """Return what each payload of a run begins with."""
    return _PREFIX.pack(_MAGIC, run_id)


def filler(size: int) -> bytes:
    """Return random bytes that make a payload as large as declared.

    Args:
        size: size of the payload in bytes, at least `SIZE_MIN`.
    """
    return os.urandom(size - SIZE_MIN)


def build(run_id: int, value: int, intended_ns: int, sent_ns: int, filler: bytes) -> bytes:
    """Return a payload; see the layout above."""
    head = _HEAD.pack(_MAGIC, run_id, value, intended_ns, sent_ns)
    return head + _CHECK.pack(extend(crc32c(head), filler)) + filler


class Writer:
    """Builds the payloads of one client.

    Args:
        run_id: id of the run, below 2**64.
        size: size of each payload in bytes, at least `SIZE_MIN`.

    Attributes:
        filler: what every payload ends with.
    """

    def __init__(self, run_id: int, size: int) -> None:
        self._run_id = run_id
        self.filler: bytes = filler(size)

    def build(self, value: int, intended_ns: int, sent_ns: int) -> bytes:
        """Return a payload."""
        return build(self._run_id, value, intended_ns, sent_ns, self.filler)


def value_of(payload: bytes) -> int:
    """Return the value of a payload that `Writer` has just built."""
    value: int = _HEAD.unpack_from(payload)[2]
    return value


def read(payload: bytes | None, run_id: int) -> tuple[int, int, int, int]:
    """Return payload code, value, intended and actual send time.

    A payload without the magic number, or with a wrong checksum, is corrupt; a valid one from another run
    is foreign.
    """
    if payload is None or len(payload) < SIZE_MIN:
        return CORRUPT, NO_VALUE, NO_VALUE, NO_VALUE
    magic, run, value, intended_ns, sent_ns, check = _WHOLE.unpack_from(payload)
    if magic != _MAGIC or check != extend(crc32c(payload[: _HEAD.size]), payload[_WHOLE.size :]):
        return CORRUPT, NO_VALUE, NO_VALUE, NO_VALUE
    return (OK if run == run_id else FOREIGN), value, intended_ns, sent_ns
