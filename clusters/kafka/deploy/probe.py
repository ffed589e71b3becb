"""Requests to one Kafka broker in its wire protocol: whether it answers, the state of partitions, features,
transactions, and what a share group has not settled.

Layouts: Kafka protocol guide, ApiVersions 0 and 3, Metadata 7, ListTransactions 0, ShareGroupDescribe 1,
DescribeShareGroupOffsets 1, ListOffsets 9, Fetch 4, DescribeProducers 0.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chaoskit.model.place import Place
from clusters.kafka.deploy.requests import NO_TAGS, Response, check, compact, flexible, request, several, text, unsigned

_API_VERSIONS, _METADATA, _API_VERSIONS_3 = (18, 0), (3, 7), (18, 3)
_TRANSACTIONS, _SHARE_GROUP, _SHARE_OFFSETS = (66, 0), (77, 1), (90, 1)
_LIST_OFFSETS, _FETCH, _PRODUCERS = (2, 9), (1, 4), (61, 0)
_EARLIEST_LOCAL, _LATEST_TIERED = -4, -5
"""Stand for times in ListOffsets: the start of what the leader has itself (KIP-405), and the last position that it
knows in the remote log (KIP-1005)."""

ANSWER_TIMEOUT_S = 0.2
"""A running broker answers in milliseconds; a paused one must not delay a fault, or hold up the others."""

_NO_REPLICA = _NO_EPOCH = -1
UNKNOWN_TOPIC = 3
_FINALIZED = 2
"""Tag of the finalized features in the response to ApiVersions 3."""

_NONE = b"\x01"
"""A compact array without elements."""


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
        request(address, port, _API_VERSIONS, b"", timeout_s)
    except (OSError, struct.error):
        return False
    return True


def partition_states(address: str, port: int, topic: str, timeout_s: float) -> dict[int, PartitionState]:
    """Return the states of a topic's partitions, by number, as seen by this broker; empty if the topic is unknown.

    Raises:
        OSError: it does not answer in time.
        struct.error: the response has another format.
    """
    no_creation = b"\0"
    asked = struct.pack(">i", 1) + text(topic) + no_creation
    response = Response(request(address, port, _METADATA, asked, timeout_s))
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
    asked = NO_TAGS + compact("chaoskit") + compact("1") + NO_TAGS
    response = Response(request(address, port, _API_VERSIONS_3, asked, timeout_s))
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


class LatestTransaction(NamedTuple):
    """The latest transaction of a transactional id.

    Attributes:
        producer: id of its producer.
        state: such as `Ongoing` or `CompleteCommit`.
    """

    producer: int
    state: str


def transactions(address: str, port: int, timeout_s: float) -> dict[str, LatestTransaction]:
    """Return the latest transaction of each transactional id that this broker coordinates.

    Raises:
        Refused: it has not loaded them yet.
        OSError: it does not answer in time, or is older than Kafka 3.0.
        struct.error: the response has another format.
    """
    of_any_state = of_any_producer = _NONE
    asked = of_any_state + of_any_producer + NO_TAGS
    response = flexible(address, port, _TRANSACTIONS, asked, timeout_s)
    response.skip(4)  # throttle time
    check(response.integer("h"))
    for _ in range(response.varint() - 1):
        response.compact()  # a state that there is not
    latest: dict[str, LatestTransaction] = {}
    for _ in range(response.varint() - 1):
        name = response.compact()
        latest[name] = LatestTransaction(response.integer("q"), response.compact())
        response.tags()
    return latest


def open_since(
    address: str, port: int, places: Sequence[Place], timeout_s: float
) -> dict[Place, list[tuple[int, int]]]:
    """Return the open transactions of each of some partitions that this broker leads: the producer's id, and where the
    first message is. Those that it does not lead are left out.

    Raises:
        OSError: it does not answer in time, or is older than Kafka 2.8.
        struct.error: the response has another format.
    """
    topics: dict[str, list[int]] = {}
    for topic, number in places:
        topics.setdefault(topic, []).append(number)
    asked = unsigned(len(topics) + 1)
    for topic, numbers in topics.items():
        asked += compact(topic) + unsigned(len(numbers) + 1) + struct.pack(f">{len(numbers)}i", *numbers) + NO_TAGS
    response = flexible(address, port, _PRODUCERS, asked + NO_TAGS, timeout_s)
    response.skip(4)  # throttle time
    since: dict[Place, list[tuple[int, int]]] = {}
    for _ in range(response.varint() - 1):
        topic = response.compact()
        for _ in range(response.varint() - 1):
            place = topic, response.integer("i")
            led = response.integer("h") == 0
            response.compact()  # error in words
            own = since.setdefault(place, []) if led else []
            for _ in range(response.varint() - 1):
                producer = response.integer("q")
                response.skip(4 + 4 + 8 + 4)  # epoch, last sequence number, last time, coordinator's epoch
                if (begin := response.integer("q")) >= 0:
                    own.append((producer, begin))
                response.tags()
            response.tags()
        response.tags()
    return since


def local_start(address: str, port: int, place: Place, timeout_s: float) -> int:
    """Return the first position of a partition that this broker, its leader, has itself. Raises like `_listed`."""
    return _listed(address, port, place, _EARLIEST_LOCAL, timeout_s)


def tiered_until(address: str, port: int, place: Place, timeout_s: float) -> int:
    """Return up to which position, exclusive, this broker, the leader of a partition, has had it copied to the object
    store. Raises like `_listed`."""
    return _listed(address, port, place, _LATEST_TIERED, timeout_s) + 1


def _listed(address: str, port: int, place: Place, at_ms: int, timeout_s: float) -> int:
    """Return the position that belongs to a time; -1 if there is none.

    Raises:
        Refused: the broker does not lead the partition, or knows of no tiered storage.
        OSError: it does not answer in time.
        struct.error: the response has another format.
    """
    uncommitted = b"\0"
    wanted = several(struct.pack(">iiq", place[1], _NO_EPOCH, at_ms) + NO_TAGS)
    asked = struct.pack(">i", _NO_REPLICA) + uncommitted + several(compact(place[0]) + wanted + NO_TAGS) + NO_TAGS
    response = flexible(address, port, _LIST_OFFSETS, asked, timeout_s)
    response.skip(4)  # throttle time
    response.varint()  # one topic
    response.compact()
    response.varint()  # one partition
    response.skip(4)
    check(response.integer("h"))
    response.skip(8)  # time
    return response.integer("q")


def read_at(address: str, port: int, place: Place, position: int, timeout_s: float) -> bool:
    """Return whether this broker, the leader of a partition, has read the message at a position; False if that took it
    longer than it may.

    Raises:
        Refused: it does not lead the partition, or cannot read there.
        OSError: it does not answer in time.
        struct.error: the response has another format.
    """
    uncommitted, soon_ms, little = b"\0", 1000, 1
    one = struct.pack(">i", 1)
    limits = struct.pack(">iiii", _NO_REPLICA, soon_ms, little, little) + uncommitted
    wanted = one + text(place[0]) + one + struct.pack(">iqi", place[1], position, little)
    response = Response(request(address, port, _FETCH, limits + wanted, timeout_s))
    response.skip(4 + 4)  # throttle time, one topic
    response.text()
    response.skip(4 + 4)  # one partition
    check(response.integer("h"))
    response.skip(8 + 8)  # high watermark, last stable offset
    for _ in range(max(response.integer("i"), 0)):
        response.skip(8 + 8)  # an aborted transaction
    return response.integer("i") > 0


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
    partition = several(struct.pack(">i", 0))
    asked = several(compact(group) + several(compact(topic) + partition + NO_TAGS) + NO_TAGS)
    response = flexible(address, port, _SHARE_OFFSETS, asked + NO_TAGS, timeout_s)
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
                check(response.integer("h"))
                response.compact()  # message
                response.tags()
            response.tags()
        check(response.integer("h"))
        response.compact()  # message
        response.tags()
    return ShareOffsets(urlsafe_b64encode(identity).decode().rstrip("="), lag)


def share_members(address: str, port: int, group: str, timeout_s: float) -> int:
    """Return the number of members of a share group. Raises like `share_offsets`."""
    operations = b"\0"
    response = flexible(address, port, _SHARE_GROUP, several(compact(group)) + operations + NO_TAGS, timeout_s)
    response.skip(4)  # throttle time
    response.varint()  # one group
    check(response.integer("h"))
    for _ in range(3):
        response.compact()  # message, group, state
    response.skip(8)  # epochs
    response.compact()  # assignor
    return response.varint() - 1
