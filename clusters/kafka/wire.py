"""Kafka's protocol on the wire: frames with a length, requests with a header, responses in the order of their requests.

A stand-alone module: see `chaoskit.contract.systems.wire`. Sources: Kafka's protocol guide, and the message definitions
(`clients/src/main/resources/common/message`) of Kafka 4.1.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from itertools import islice

from chaoskit.contract.systems.wire import Header, SizePrefixed

_API_KEYS = """
Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch
FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions
CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn
WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs
DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken
DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments
ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials
AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope
FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker
DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe
ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources
DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter
UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState
ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets
AlterShareGroupOffsets DeleteShareGroupOffsets
"""
"""The names of the requests in the order of their keys, from 0."""

MESSAGES = tuple(_API_KEYS.split())

ERRORS = {
    "UNKNOWN_SERVER_ERROR": -1, "OFFSET_OUT_OF_RANGE": 1, "CORRUPT_MESSAGE": 2, "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "LEADER_NOT_AVAILABLE": 5, "NOT_LEADER_OR_FOLLOWER": 6, "REQUEST_TIMED_OUT": 7, "REPLICA_NOT_AVAILABLE": 9,
    "OFFSET_METADATA_TOO_LARGE": 12, "NETWORK_EXCEPTION": 13, "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15, "NOT_COORDINATOR": 16, "NOT_ENOUGH_REPLICAS": 19,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": 20, "ILLEGAL_GENERATION": 22, "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27, "INVALID_COMMIT_OFFSET_SIZE": 28, "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
    "DUPLICATE_SEQUENCE_NUMBER": 46, "INVALID_PRODUCER_EPOCH": 47, "INVALID_TXN_STATE": 48,
    "INVALID_PRODUCER_ID_MAPPING": 49, "CONCURRENT_TRANSACTIONS": 51, "TRANSACTION_COORDINATOR_FENCED": 52,
    "KAFKA_STORAGE_ERROR": 56, "UNKNOWN_PRODUCER_ID": 59, "FETCH_SESSION_ID_NOT_FOUND": 70,
    "INVALID_FETCH_SESSION_EPOCH": 71, "FENCED_LEADER_EPOCH": 74, "UNKNOWN_LEADER_EPOCH": 75,
    "OFFSET_NOT_AVAILABLE": 78, "UNSTABLE_OFFSET_COMMIT": 88, "UNKNOWN_TOPIC_ID": 100, "FENCED_INSTANCE_ID": 82,
    "PRODUCER_FENCED": 90, "FENCED_MEMBER_EPOCH": 110,
}  # fmt: skip
"""Codes of errors that clients must cope with."""

_TOP_LEVEL = {
    "JoinGroup": (2, 6), "Heartbeat": (1, 4), "LeaveGroup": (1, 4), "SyncGroup": (1, 4), "InitProducerId": (0, 2),
    "AddOffsetsToTxn": (0, 3), "EndTxn": (0, 3), "ConsumerGroupHeartbeat": (0, 0),
}  # fmt: skip
"""Responses that begin with an error code; the versions since which a throttle time is before it, and since which they
are flexible (with tagged fields)."""

_PRODUCE_FLEXIBLE, _PRODUCE_TIMES, _PRODUCE_STARTS, _PRODUCE_RECORD_ERRORS, _PRODUCE_TOPIC_IDS = 9, 2, 5, 8, 13

_COMMITS = {"OffsetCommit": (3, 8, 10), "TxnOffsetCommit": (0, 3, 99)}
"""Responses with an error for each partition that was committed; the versions since which a throttle time is before
them, since which they are flexible, and since which topics have an id in place of a name."""

_FETCH_FLEXIBLE, _FETCH_THROTTLED, _FETCH_SESSIONS, _FETCH_STABLE, _FETCH_STARTS, _FETCH_PREFERRED, _FETCH_TOPIC_IDS = (
    12, 1, 7, 4, 5, 11, 13,
)  # fmt: skip
_OF_FETCH_SESSIONS = ("FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH")
"""Errors of a fetch as a whole; all others are of its partitions."""

_METADATA_FLEXIBLE, _METADATA_THROTTLED, _METADATA_RACKS, _METADATA_CLUSTER, _METADATA_CONTROLLER = 9, 3, 1, 2, 1
_METADATA_TOPIC_IDS, _METADATA_INTERNAL, _METADATA_EPOCHS, _METADATA_OFFLINE, _METADATA_RIGHTS = 10, 1, 7, 5, 8

REFUSABLE = dict.fromkeys(("Produce", "Fetch", "Metadata", *_COMMITS, *_TOP_LEVEL), tuple(ERRORS))
"""See `chaoskit.contract.systems.wire.Wire`."""

_REQUEST = struct.Struct(">4xhhih")
_CORRELATION = struct.Struct(">4xi")
_UNANSWERED_MAX = 100_000


class KafkaDecoder(SizePrefixed):
    """See `chaoskit.contract.systems.wire.Decoder`. A client id that is longer than 256 bytes is cut."""

    head = _REQUEST.size + 256
    size_max = 1 << 30

    def __init__(self) -> None:
        self._unanswered: deque[Header] = deque(maxlen=_UNANSWERED_MAX)

    def request(self, head: bytes) -> Header | None:
        if len(head) < _REQUEST.size:
            return None
        key, version, correlation, size = _REQUEST.unpack_from(head)
        if not 0 <= key < len(MESSAGES):
            return None
        client = head[_REQUEST.size : _REQUEST.size + max(0, size)].decode(errors="replace")
        header = Header(MESSAGES[key], correlation, client, version)
        self._unanswered.append(header)
        return header

    def response(self, head: bytes) -> Header | None:
        """Return the header of the request that it answers; those before it have no answer (`acks=0`)."""
        if len(head) < _CORRELATION.size:
            return None
        (correlation,) = _CORRELATION.unpack_from(head)
        for skipped, header in enumerate(self._unanswered):
            if header.correlation == correlation:
                for _ in range(skipped + 1):
                    self._unanswered.popleft()
                return header
        return None

    def pair(self, header: Header, head: bytes, *, answers: bool) -> int:
        """See `chaoskit.contract.systems.wire.Pairing`."""
        return header.correlation

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        changed = bytearray(response)
        codes = _error_codes(header, response, error)
        if not codes:
            raise ValueError("a response about no partition")
        for at in codes:
            struct.pack_into(">h", changed, at, ERRORS[error])
        return bytes(changed)


class _Walk:
    """Walks over the fields of a response."""

    def __init__(self, response: bytes, flexible: bool) -> None:
        self._bytes = response
        self._flexible = flexible
        self.at = _CORRELATION.size
        self.tags()

    def skip(self, size: int) -> int:
        """Return where a field is, and go behind it."""
        self.at += size
        if self.at > len(self._bytes):
            raise ValueError(f"a response of {len(self._bytes)} bytes ends too early")
        return self.at - size

    def count(self, size: int = 4) -> int:
        """Return the number of elements of an array, or of bytes of a text (size 2)."""
        if self._flexible:
            return self._number() - 1
        at = self.skip(size)
        return int.from_bytes(self._bytes[at : at + size], "big", signed=True)

    def text(self) -> None:
        """Go behind a text."""
        self.skip(max(0, self.count(2)))

    def numbers(self) -> None:
        """Go behind an array of numbers of four bytes."""
        self.skip(4 * max(0, self.count()))

    def topic(self, *, by_id: bool) -> None:
        """Go behind the name, or the id, of a topic."""
        if by_id:
            self.skip(16)
        else:
            self.text()

    def partitions(self, *, by_id: bool) -> Iterator[None]:
        """Walk over the partitions of topics; yield behind the number of each, to go behind its fields."""
        for _ in range(self.count()):
            self.topic(by_id=by_id)
            for _ in range(self.count()):
                self.skip(4)
                yield
                self.tags()
            self.tags()

    def tags(self) -> None:
        """Go behind the tagged fields that end each structure of a flexible response."""
        for _ in range(self._number() if self._flexible else 0):
            self._number()
            self.skip(self._number())

    def _number(self) -> int:
        value = shift = 0
        for byte in islice(self._bytes, self.at, None):
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        return value


def _error_codes(header: Header, response: bytes, error: str) -> list[int]:
    """Return where the error codes of a response are."""
    if header.message == "Fetch":
        return _fetch_error_codes(response, header.version, whole=error in _OF_FETCH_SESSIONS)
    if header.message == "Metadata":
        return _metadata_error_codes(response, header.version)
    if header.message in _COMMITS:
        return _commit_error_codes(response, header.version, *_COMMITS[header.message])
    if header.message in _TOP_LEVEL:
        throttled, flexible = _TOP_LEVEL[header.message]
        walk = _Walk(response, header.version >= flexible)
        walk.skip(4 if header.version >= throttled else 0)
        return [walk.skip(2)]
    return _produce_error_codes(response, header.version)


def _produce_error_codes(response: bytes, version: int) -> list[int]:
    walk = _Walk(response, version >= _PRODUCE_FLEXIBLE)
    codes = []
    for _ in walk.partitions(by_id=version >= _PRODUCE_TOPIC_IDS):
        codes.append(walk.skip(2))
        walk.skip(8 + 8 * (version >= _PRODUCE_TIMES) + 8 * (version >= _PRODUCE_STARTS))
        if version >= _PRODUCE_RECORD_ERRORS:
            for _ in range(walk.count()):
                walk.skip(4)
                walk.text()
                walk.tags()
            walk.text()
    return codes


def _commit_error_codes(response: bytes, version: int, throttled: int, flexible: int, topic_ids: int) -> list[int]:
    walk = _Walk(response, version >= flexible)
    walk.skip(4 if version >= throttled else 0)
    return [walk.skip(2) for _ in walk.partitions(by_id=version >= topic_ids)]


def _fetch_error_codes(response: bytes, version: int, *, whole: bool) -> list[int]:
    """Return where the codes of the partitions are, or that of the `whole` fetch."""
    walk = _Walk(response, version >= _FETCH_FLEXIBLE)
    walk.skip(4 if version >= _FETCH_THROTTLED else 0)
    if version >= _FETCH_SESSIONS:
        at = walk.skip(2)
        walk.skip(4)
        if whole:
            return [at]
    codes = []
    for _ in walk.partitions(by_id=version >= _FETCH_TOPIC_IDS):
        codes.append(walk.skip(2))
        walk.skip(8 + 8 * (version >= _FETCH_STABLE) + 8 * (version >= _FETCH_STARTS))
        for _ in range(walk.count() if version >= _FETCH_STABLE else 0):
            walk.skip(16)
            walk.tags()
        walk.skip(4 if version >= _FETCH_PREFERRED else 0)
        walk.skip(max(0, walk.count()))
    return codes


def _metadata_error_codes(response: bytes, version: int) -> list[int]:
    """Return where the codes of the topics and of their partitions are."""
    walk = _Walk(response, version >= _METADATA_FLEXIBLE)
    walk.skip(4 if version >= _METADATA_THROTTLED else 0)
    for _ in range(walk.count()):
        walk.skip(4)
        walk.text()
        walk.skip(4)
        if version >= _METADATA_RACKS:
            walk.text()
        walk.tags()
    if version >= _METADATA_CLUSTER:
        walk.text()
    walk.skip(4 if version >= _METADATA_CONTROLLER else 0)
    codes = []
    for _ in range(walk.count()):
        codes.append(walk.skip(2))
        walk.text()
        walk.skip(16 * (version >= _METADATA_TOPIC_IDS) + (version >= _METADATA_INTERNAL))
        for _ in range(walk.count()):
            codes.append(walk.skip(2))
            walk.skip(8 + 4 * (version >= _METADATA_EPOCHS))
            for _ in range(2 + (version >= _METADATA_OFFLINE)):
                walk.numbers()
            walk.tags()
        walk.skip(4 if version >= _METADATA_RIGHTS else 0)
        walk.tags()
    return codes
