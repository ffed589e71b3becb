"""Requests to one Kafka broker in its wire protocol: whether it answers, the state of partitions, and features.

Layouts: Kafka protocol guide, ApiVersions 0 and 3, and Metadata 7.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from clusters.common.framing import ask

_API_VERSIONS, _METADATA, _API_VERSIONS_3 = (18, 0), (3, 7), (18, 3)
_FINALIZED = 2
"""Tag of the finalized features in the response to ApiVersions 3."""

_CORRELATION = 1
_NO_CLIENT_ID = -1


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of a partition as seen by one broker: node ids, and the epoch of its leader; -1 if it is not known."""

    epoch: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


def answers(address: str, port: int, timeout_s: float) -> bool:
    """Return whether the node at this address answers in time."""
    try:
        _ask(address, port, _API_VERSIONS, b"", timeout_s)
    except (OSError, struct.error):
        return False
    return True


def partition_states(address: str, port: int, topic: str, timeout_s: float) -> dict[int, PartitionState]:
    """Return the states of a topic's partitions, by number, as seen by this broker; empty if the topic is unknown.

    Raises:
        OSError: it does not answer in time.
        struct.error: the response has another format.
    """
    name = topic.encode()
    no_creation = b"\0"
    request = struct.pack(">ih", 1, len(name)) + name + no_creation
    response = _Reader(_ask(address, port, _METADATA, request, timeout_s))
    response.skip(4)  # throttle time
    for _ in range(response.integer("i")):
        response.skip(4)  # node id
        response.text()  # host
        response.skip(4)  # port
        response.text()  # rack
    response.text()  # cluster id
    response.skip(4)  # controller id: in KRaft mode any broker
    states = {}
    for _ in range(response.integer("i")):
        response.skip(2)  # error
        response.text()  # name
        response.skip(1)  # internal
        for _ in range(response.integer("i")):
            response.skip(2)  # error
            number, leader, epoch = (response.integer("i") for _ in range(3))
            replicas, isr, _offline = response.integers(), response.integers(), response.integers()
            states[number] = PartitionState(epoch, leader, replicas, isr)
    return states


def features(address: str, port: int, timeout_s: float) -> dict[str, int]:
    """Return the level of each feature that the cluster has finalized, as this broker tells.

    Raises:
        OSError: it does not answer in time, or not without encryption.
        struct.error: the response has another format.
    """
    no_tags, name = b"\0", b"\x09chaoskit"
    response = _Reader(_ask(address, port, _API_VERSIONS_3, no_tags + name + b"\x021" + no_tags, timeout_s))
    response.skip(2)  # error
    for _ in range(response.varint() - 1):
        response.skip(6)  # key, lowest and highest version
        response.tags()
    response.skip(4)  # throttle time
    levels: dict[str, int] = {}
    for tag, field in response.tags().items():
        for _ in range(field.varint() - 1 if tag == _FINALIZED else 0):
            feature = field.take(field.varint() - 1).decode()
            levels[feature] = field.integer("h")
            field.skip(2)  # lowest level
            field.tags()
    return levels


def _ask(address: str, port: int, api: tuple[int, int], body: bytes, timeout_s: float) -> bytes:
    """Send one request and return the response after the correlation id."""
    header = struct.pack(">hhih", *api, _CORRELATION, _NO_CLIENT_ID)
    response = ask(address, port, header + body, timeout_s)
    if struct.unpack_from(">i", response)[0] != _CORRELATION:
        raise ConnectionError(f"{address}:{port} does not use Kafka's protocol")
    return response[4:]


class _Reader:
    """Reads a response from its start."""

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

    def tags(self) -> dict[int, _Reader]:
        """Return tagged fields."""
        return {self.varint(): _Reader(self.take(self.varint())) for _ in range(self.varint())}

    def integers(self) -> tuple[int, ...]:
        return tuple(self.integer("i") for _ in range(self.integer("i")))

    def text(self) -> None:
        """Skip a string, which may be null."""
        self.skip(max(self.integer("h"), 0))
