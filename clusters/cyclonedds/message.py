"""The type of all samples: bytes. It is packed here, since the library would make a list of numbers of them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import sequence, uint8

if TYPE_CHECKING:
    Octets = bytes
else:
    Octets = sequence[uint8]

_LITTLE = b"\x00\x01\x00\x00"
"""Header of plain CDR, version 1, little-endian (DDS-XTypes 1.3, 7.6.3.1.2)."""

_HEAD = len(_LITTLE) + 4


@dataclass
class CycloneMessage(IdlStruct, typename="chaoskit.Message"):
    """One sample."""

    payload: Octets

    def serialize(self, *args: Any, **given: Any) -> bytes:
        return b"".join((_LITTLE, struct.pack("<I", len(self.payload)), self.payload))

    @classmethod
    def deserialize(cls, data: bytes, *args: Any, **given: Any) -> CycloneMessage:  # noqa: ARG003 - there is one encoding
        (length,) = struct.unpack_from("<I" if data[1] & 1 else ">I", data, len(_LITTLE))
        return cls(data[_HEAD : _HEAD + length])
