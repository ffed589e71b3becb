"""MQTT 3.1.1 and 5 on the wire: control packets with their length behind their type.

A stand-alone module: see `chaoskit.contract.systems.wire`. Source: MQTT Version 5.0, chapters 2 and 3, and Version
3.1.1.
"""

from __future__ import annotations

from chaoskit.contract.systems.wire import Header

_PACKETS = """
CONNECT CONNACK PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK PINGREQ PINGRESP DISCONNECT
AUTH
"""
"""The names of the packets in the order of their types, from 1."""

_NAMES = tuple(_PACKETS.split())
_OF_BROKER = {"CONNACK", "SUBACK", "UNSUBACK", "PINGRESP"}
_OF_CLIENT = {"CONNECT", "SUBSCRIBE", "UNSUBSCRIBE", "PINGREQ"}
MESSAGES = tuple(name for name in _NAMES if name not in _OF_BROKER)
ANSWERS = tuple(name for name in _NAMES if name not in _OF_CLIENT)

_ERRORS = {
    "UNSPECIFIED_ERROR": 0x80, "IMPLEMENTATION_SPECIFIC_ERROR": 0x83, "NOT_AUTHORIZED": 0x87,
    "PACKET_IDENTIFIER_IN_USE": 0x91, "QUOTA_EXCEEDED": 0x97,
}  # fmt: skip
"""Reason codes of MQTT 5."""

REFUSABLE = dict.fromkeys(("PUBACK", "PUBREC"), tuple(_ERRORS))
"""See `chaoskit.contract.systems.wire.Wire`; not on connections of MQTT 3.1.1, which has no reason codes."""

_CONNECT = 1
_WITH_IDENTIFIER = {
    "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK",
}  # fmt: skip
_LENGTH_BYTES_MAX = 4
_KEEP_ALIVE_BYTES = 2
_FIVE = 5


class MqttDecoder:
    """See `chaoskit.contract.systems.wire.Decoder`. The correlation of a packet is its packet identifier, or 0 if it
    has none; a client identifier that does not end within 1,024 bytes is cut."""

    head = 1024

    def __init__(self) -> None:
        self._client = ""
        self._version = 0

    def length(self, begin: bytes) -> int | None:
        if not begin:
            return None
        if not begin[0] >> 4:
            raise ValueError("there is no packet of type 0")
        size, at = _variable(begin, 1)
        if size is None:
            return None
        if begin[0] >> 4 == _CONNECT:
            if len(begin) < min(at + size, self.head):
                return None
            self._version, self._client = _connecting(begin[at:])
        return at + size

    def request(self, head: bytes) -> Header | None:
        return self._header(head, _OF_BROKER)

    def response(self, head: bytes) -> Header | None:
        return self._header(head, _OF_CLIENT)

    def pair(self, header: Header, head: bytes, *, answers: bool) -> int | None:
        """See `chaoskit.contract.systems.wire.Pairing`; clients and brokers number what they publish each for
        themselves."""
        pairs = header.message in (("PUBACK", "PUBREC") if answers else ("PUBLISH",))
        return header.correlation if pairs and header.correlation else None

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        """Put a reason code behind the packet identifier."""
        if self._version < _FIVE:
            raise ValueError("only MQTT 5 has reason codes")
        return bytes([response[0], 3]) + header.correlation.to_bytes(2, "big") + bytes([_ERRORS[error]])

    def _header(self, head: bytes, others: set[str]) -> Header | None:
        name = _NAMES[(head[0] >> 4) - 1]
        if name in others:
            return None
        _, at = _variable(head, 1)
        if name == "PUBLISH":
            asks_answer = head[0] & 0b0110
            at += 2 + _number(head, at)
            return Header(name, _number(head, at) if asks_answer else 0, self._client)
        return Header(name, _number(head, at) if name in _WITH_IDENTIFIER else 0, self._client)


def _variable(content: bytes, at: int) -> tuple[int | None, int]:
    """Return a variable byte integer, None if it is not whole, and where it ends."""
    value = 0
    for place, byte in enumerate(content[at : at + _LENGTH_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    if len(content) >= at + _LENGTH_BYTES_MAX:
        raise ValueError("a length of more than four bytes")
    return None, at


def _number(content: bytes, at: int) -> int:
    return int.from_bytes(content[at : at + 2], "big")


def _connecting(body: bytes) -> tuple[int, str]:
    """Return the version of the protocol and the client identifier in what follows the fixed header of a CONNECT."""
    at = 2 + _number(body, 0)
    version = body[at] if len(body) > at else 0
    at += 2 + _KEEP_ALIVE_BYTES
    if version >= _FIVE:
        size, at = _variable(body, at)
        at += size or 0
    return version, body[at + 2 : at + 2 + _number(body, at)].decode(errors="replace")
