"""Requests to one Kafka broker in its wire protocol, and how responses are read.

Layouts: Kafka protocol guide; KIP-482 for compact and tagged fields.
"""

from __future__ import annotations

import struct

from clusters.common.framing import ask

_CORRELATION = 1
_NO_NAME = struct.pack(">h", -1)
NO_TAGS = b"\0"


class Refused(Exception):
    """A broker answered with an error.

    Args:
        code: as in Kafka's protocol guide.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"error {code}")
        self.code = code


def check(code: int) -> None:
    """Raise `Refused` unless a response says that there was no error."""
    if code:
        raise Refused(code)


def unsigned(number: int) -> bytes:
    """Return a number in pieces of seven bits, the lowest first."""
    pieces = []
    while number >= 0x80:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*pieces, number])


def compact(words: str) -> bytes:
    """Return a compact string."""
    encoded = words.encode()
    return unsigned(len(encoded) + 1) + encoded


def text(words: str) -> bytes:
    """Return a string."""
    encoded = words.encode()
    return struct.pack(">h", len(encoded)) + encoded


def several(one: bytes) -> bytes:
    """Return a compact array of one element."""
    return b"\x02" + one


def flexible(address: str, port: int, api: tuple[int, int], body: bytes, timeout_s: float) -> Response:
    """Send one request with tagged fields; return the response after its header."""
    response = Response(request(address, port, api, NO_TAGS + body, timeout_s))
    response.tags()
    return response


def request(
    address: str, port: int, api: tuple[int, int], body: bytes, timeout_s: float, *, client: bytes = _NO_NAME
) -> bytes:
    """Send one request and return the response after the correlation id; `client`: the client id, as it is sent."""
    header = struct.pack(">hhi", *api, _CORRELATION) + client
    response = ask(address, port, header + body, timeout_s)
    if struct.unpack_from(">i", response)[0] != _CORRELATION:
        raise ConnectionError(f"{address}:{port} does not use Kafka's protocol")
    return response[4:]


class Response:
    """A response, read from its start."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def skip(self, size: int) -> None:
        self._at += size

    def integer(self, format_: str) -> int:
        (value,) = struct.unpack_from(f">{format_}", self._content, self._at)
        self._at += struct.calcsize(f">{format_}")
        return int(value)

    def varint(self) -> int:
        """Return an unsigned number of seven bits a byte."""
        value = shift = 0
        while True:
            byte = self.integer("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        self._at += size
        return self._content[self._at - size : self._at]

    def tags(self) -> dict[int, Response]:
        """Return tagged fields."""
        return {self.varint(): Response(self.take(self.varint())) for _ in range(self.varint())}

    def integers(self) -> tuple[int, ...]:
        return tuple(self.integer("i") for _ in range(self.integer("i")))

    def compact(self) -> str:
        """Return a compact string; empty if it is null."""
        return self.take(max(self.varint() - 1, 0)).decode()

    def text(self) -> None:
        """Skip a string, which may be null."""
        self.skip(max(self.integer("h"), 0))
