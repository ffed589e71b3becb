"""Requests to one Kafka broker in its wire protocol: whether it answers, the state of partitions, features,
transactions, and what a share group has not settled.

Layouts: Kafka protocol guide, ApiVersions 0 and 3, Metadata 7, ListTransactions 0, ShareGroupDescribe 1,
DescribeShareGroupOffsets 1.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import NamedTuple

from clusters.common.framing import ask

_API_VERSIONS, _METADATA, _API_VERSIONS_3 = (18, 0), (3, 7), (18, 3)
_TRANSACTIONS, _SHARE_GROUP, _SHARE_OFFSETS = (66, 0), (77, 1), (90, 1)
UNKNOWN_TOPIC = 3
_FINALIZED = 2
"""Tag of the finalized features in the response to ApiVersions 3."""

_CORRELATION = 1
_NO_CLIENT_ID = -1
_NO_TAGS = b"\0"
_NONE = b"\x01"
"""A compact array without elements."""


class Refused(Exception):
    """A broker answered with an error.

    Args:
        code: as in Kafka's protocol guide.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"error {code}")
        self.code = code


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
    asked = _NO_TAGS + _compact("chaoskit") + _compact("1") + _NO_TAGS
    response = _Reader(_ask(address, port, _API_VERSIONS_3, asked, timeout_s))
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


def transactions(address: str, port: int, timeout_s: float) -> dict[str, str]:
    """Return the state of the latest transaction of each transactional id that this broker coordinates, such as
    `Ongoing` or `CompleteCommit`.

    Raises:
        Refused: it has not loaded them yet.
        OSError: it does not answer in time, or is older than Kafka 3.0.
        struct.error: the response has another format.
    """
    of_any_state = of_any_producer = _NONE
    asked = of_any_state + of_any_producer + _NO_TAGS
    response = _flexible(address, port, _TRANSACTIONS, asked, timeout_s)
    response.skip(4)  # throttle time
    _check(response.integer("h"))
    for _ in range(response.varint() - 1):
        response.compact()  # a state that there is not
    states: dict[str, str] = {}
    for _ in range(response.varint() - 1):
        name = response.compact()
        response.skip(8)  # producer id
        states[name] = response.compact()
        response.tags()
    return states


class ShareOffsets(NamedTuple):
    """What a share group has done with a partition.

    Attributes:
        topic: id of its topic, in Kafka's notation.
        lag: messages that the group has neither acknowledged nor given up (KIP-1226); below 0: not known.
    """

    topic: str
    lag: int


def share_offsets(address: str, port: int, group: str, topic: str, timeout_s: float) -> ShareOffsets:
    """Return what a share group has done with a topic's partition 0.

    Raises:
        Refused: the broker does not tell, or there is no such topic.
        OSError: it does not answer in time.
        struct.error: the response has another format.
    """
    partition = _several(struct.pack(">i", 0))
    asked = _several(_compact(group) + _several(_compact(topic) + partition + _NO_TAGS) + _NO_TAGS)
    response = _flexible(address, port, _SHARE_OFFSETS, asked + _NO_TAGS, timeout_s)
    response.skip(4)  # throttle time
    identity, lag = b"", -1
    for _ in range(response.varint() - 1):
        response.compact()  # group
        for _ in range(response.varint() - 1):
            response.compact()  # topic
            identity = response.take(16)
            for _ in range(response.varint() - 1):
                response.skip(4 + 8 + 4)  # number, first position, leader's epoch
                lag = response.integer("q")
                _check(response.integer("h"))
                response.compact()  # message
                response.tags()
            response.tags()
        _check(response.integer("h"))
        response.compact()  # message
        response.tags()
    return ShareOffsets(urlsafe_b64encode(identity).decode().rstrip("="), lag)


def share_members(address: str, port: int, group: str, timeout_s: float) -> int:
    """Return the number of members of a share group. Raises like `share_offsets`."""
    operations = b"\0"
    response = _flexible(address, port, _SHARE_GROUP, _several(_compact(group)) + operations + _NO_TAGS, timeout_s)
    response.skip(4)  # throttle time
    response.varint()  # one group
    _check(response.integer("h"))
    for _ in range(3):
        response.compact()  # message, group, state
    response.skip(8)  # epochs
    response.compact()  # assignor
    return response.varint() - 1


def _check(code: int) -> None:
    if code:
        raise Refused(code)


def _compact(words: str) -> bytes:
    encoded = words.encode()
    return bytes([len(encoded) + 1]) + encoded


def _several(one: bytes) -> bytes:
    """Return a compact array of one element."""
    return b"\x02" + one


def _flexible(address: str, port: int, api: tuple[int, int], body: bytes, timeout_s: float) -> _Reader:
    """Send one request with tagged fields; return the response after its header."""
    response = _Reader(_ask(address, port, api, _NO_TAGS + body, timeout_s))
    response.tags()
    return response


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

    def compact(self) -> str:
        """Return a compact string; empty if it is null."""
        return self.take(max(self.varint() - 1, 0)).decode()

    def text(self) -> None:
        """Skip a string, which may be null."""
        self.skip(max(self.integer("h"), 0))
