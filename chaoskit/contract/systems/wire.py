"""The wire: what a tap between a system and its clients must know of their protocol.

A decoder finds the messages in the bytes of one connection. It is a class in a module that imports nothing but the
standard library and this module: a tap loads both on a host, where chaoskit is not installed.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

_SIZE = struct.Struct(">i")


class Header(NamedTuple):
    """What is known of one message.

    Attributes:
        message: its name in the protocol, such as `Fetch`; of a response, the name of its request, unless responses
            have names of their own (`Wire.answers`).
        correlation: what the protocol uses to match a response with its request.
        client: the name that the client gives itself; empty if it gives none.
        version: the version of the message's format.
    """

    message: str
    correlation: int
    client: str = ""
    version: int = 0


class Decoder(Protocol):
    """Finds the messages in the bytes of one connection, request by request and response by response.

    Attributes:
        head: so many bytes of a message are enough for each of its methods.
    """

    @property
    def head(self) -> int: ...

    def length(self, begin: bytes) -> int | None:
        """Return the length in bytes of the message that begins with these bytes; None if they are too few to tell.

        It is asked about each message of both directions, in order, and perhaps again with more bytes; so what must be
        known of a connection later is remembered here. Messages that belong together, so that none of them may be
        missing, are one.

        Raises:
            ValueError: they are not the begin of a message.
        """
        ...

    def request(self, head: bytes) -> Header | None:
        """Return the header of a request; None if it is unknown."""
        ...

    def response(self, head: bytes) -> Header | None:
        """Return the header of a response; None if its request is unknown. Each is asked for once."""
        ...


class SizePrefixed:
    """Protocols whose messages begin with their size, four bytes, which do not count: `Decoder.length`, and frames.

    Attributes:
        size_min, size_max: what a size can be, in bytes.
    """

    size_min = 1
    size_max = 1 << 27

    def length(self, begin: bytes) -> int | None:
        if len(begin) < _SIZE.size:
            return None
        size: int = _SIZE.unpack_from(begin)[0]
        if not self.size_min <= size <= self.size_max:
            raise ValueError(f"a frame of {size} bytes")
        return size + _SIZE.size

    @staticmethod
    def framed(content: bytes) -> bytes:
        """Return a message with this content."""
        return _SIZE.pack(len(content)) + content


def varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number as protobuf writes it, and where the bytes behind it are.

    Raises:
        IndexError: it is not whole.
    """
    value = shift = 0
    while (byte := content[at]) >= 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1


def as_varint(value: int) -> bytes:
    """Return a number that is not negative as protobuf writes it.

    >>> as_varint(300).hex(), varint(as_varint(300), 0)
    ('ac02', (300, 2))
    """
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


@runtime_checkable
class Pairing(Protocol):
    """Optional power of a decoder: join responses with their requests."""

    def pair(self, header: Header, head: bytes, *, answers: bool) -> Hashable | None:
        """Return what only a request and its response have, as long as it is open on the connection; None if they
        cannot be joined.

        Args:
            header: the header of either.
            head: its first bytes.
            answers: whether it is the response.
        """
        ...


@runtime_checkable
class Refusing(Protocol):
    """Optional power of a decoder: put errors into responses."""

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        """Return a whole response with an error in it, or another one in its place that tells it: one of those in
        `Wire.refusable`.

        Raises:
            ValueError: the response is not as expected.
        """
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """The protocols of a system.

    Attributes:
        decoders: by the TCP port on which its hosts are called, the class of the `Decoder`, as `module:class`.
        messages: the names of all that is sent to the system.
        answers: the names of all that the system sends; empty: each has the name of its request.
        named: whether clients give themselves names.
        refusable: by the name of each response that may be made an error, the names of the errors; all decoders are
            then `Refusing`.
    """

    decoders: Mapping[int, str]
    messages: Sequence[str]
    answers: Sequence[str] = ()
    named: bool = True
    refusable: Mapping[str, Sequence[str]] = field(default_factory=dict)


@runtime_checkable
class Decoding(Protocol):
    """Optional power of a system: say how its messages are found on the wire."""

    def wire(self, options: Any) -> Wire:
        """Return the protocol with these options.

        Raises:
            BadInput: it cannot be read, such as because it is encrypted.
        """
        ...


@runtime_checkable
class Tapped(Protocol):
    """Optional power: let the connections with its hosts pass through taps.

    Attributes:
        wire: its protocol.
    """

    @property
    def wire(self) -> Wire: ...
