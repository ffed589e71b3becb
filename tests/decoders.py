"""What tests of decoders have in common: pairs, refusals, and messages of bookies in the older versions."""

from __future__ import annotations

import struct
from collections.abc import Hashable

from chaoskit.contract.systems.wire import Decoder, Pairing, Refusing, SizePrefixed


def joined(decoder: Decoder, message: bytes, *, answers: bool) -> Hashable | None:
    """Return what joins a request with its response, if it is known; see `Pairing`."""
    assert isinstance(decoder, Pairing)
    header = decoder.response(message) if answers else decoder.request(message)
    assert header is not None
    return decoder.pair(header, message, answers=answers)


def refused(decoder: Decoder, response: bytes, error: str) -> bytes:
    """Return a response made an error."""
    assert isinstance(decoder, Refusing)
    header = decoder.response(response)
    assert header is not None
    return decoder.refused(header, response, error)


def old_add(entry: int, *, version: int = 2, body: bytes = b"body") -> bytes:
    """Return a bookie's request `ADD_ENTRY`."""
    return SizePrefixed.framed(bytes([version, 1, 0, 0]) + b"k" * 20 + struct.pack(">qq", 7, entry) + body)


def old_added(entry: int, *, version: int = 2) -> bytes:
    """Return its answer."""
    return SizePrefixed.framed(bytes([version, 1, 0, 0]) + struct.pack(">iqq", 0, 7, entry))
