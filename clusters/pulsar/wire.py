"""Pulsar's binary protocol on the wire: frames with a command (protobuf) and often a payload, in both directions.

What brokers send has names of its own: it is not always an answer. A stand-alone module: see
`chaoskit.contract.systems.wire`.
Sources: `PulsarApi.proto` and `Commands` of Pulsar 4.0, and which commands its `ServerCnx` and `ClientCnx` handle.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable

from chaoskit.contract.systems.wire import Header, SizePrefixed, as_varint, varint

_BY_CLIENTS = {
    2: ("CONNECT",), 4: ("SUBSCRIBE", 5), 5: ("PRODUCER", 3), 6: ("SEND", 2), 10: ("ACK", 8), 11: ("FLOW",),
    12: ("UNSUBSCRIBE", 2), 15: ("CLOSE_PRODUCER", 2), 16: ("CLOSE_CONSUMER", 2), 18: ("PING",), 19: ("PONG",),
    20: ("REDELIVER_UNACKNOWLEDGED_MESSAGES",), 21: ("PARTITIONED_METADATA", 2), 23: ("LOOKUP", 2),
    25: ("CONSUMER_STATS", 1), 28: ("SEEK", 2), 29: ("GET_LAST_MESSAGE_ID", 2), 32: ("GET_TOPICS_OF_NAMESPACE", 1),
    34: ("GET_SCHEMA", 1), 37: ("AUTH_RESPONSE",), 39: ("GET_OR_CREATE_SCHEMA", 1), 50: ("NEW_TXN", 1),
    52: ("ADD_PARTITION_TO_TXN", 1), 54: ("ADD_SUBSCRIPTION_TO_TXN", 1), 56: ("END_TXN", 1),
    58: ("END_TXN_ON_PARTITION", 1), 60: ("END_TXN_ON_SUBSCRIPTION", 1), 62: ("TC_CLIENT_CONNECT_REQUEST", 1),
    64: ("WATCH_TOPIC_LIST", 1), 67: ("WATCH_TOPIC_LIST_CLOSE", 1),
}  # fmt: skip
"""Name of each type of command that clients send, and the numbers of the fields that lead to its correlation: of
messages the sequence id, of others the request id. The field with a command has the number of its type."""

_BY_BROKERS = {
    3: ("CONNECTED",), 7: ("SEND_RECEIPT", 2), 8: ("SEND_ERROR", 2), 9: ("MESSAGE", 2, 2), 13: ("SUCCESS", 1),
    14: ("ERROR", 1), 15: ("CLOSE_PRODUCER", 2), 16: ("CLOSE_CONSUMER", 2), 17: ("PRODUCER_SUCCESS", 1),
    18: ("PING",), 19: ("PONG",), 22: ("PARTITIONED_METADATA_RESPONSE", 2), 24: ("LOOKUP_RESPONSE", 4),
    26: ("CONSUMER_STATS_RESPONSE", 1), 27: ("REACHED_END_OF_TOPIC",), 30: ("GET_LAST_MESSAGE_ID_RESPONSE", 2),
    31: ("ACTIVE_CONSUMER_CHANGE",), 33: ("GET_TOPICS_OF_NAMESPACE_RESPONSE", 1), 35: ("GET_SCHEMA_RESPONSE", 1),
    36: ("AUTH_CHALLENGE",), 38: ("ACK_RESPONSE", 6), 40: ("GET_OR_CREATE_SCHEMA_RESPONSE", 1),
    51: ("NEW_TXN_RESPONSE", 1), 53: ("ADD_PARTITION_TO_TXN_RESPONSE", 1), 55: ("ADD_SUBSCRIPTION_TO_TXN_RESPONSE", 1),
    57: ("END_TXN_RESPONSE", 1), 59: ("END_TXN_ON_PARTITION_RESPONSE", 1), 61: ("END_TXN_ON_SUBSCRIPTION_RESPONSE", 1),
    63: ("TC_CLIENT_CONNECT_RESPONSE", 1), 65: ("WATCH_TOPIC_LIST_SUCCESS", 1), 66: ("WATCH_TOPIC_UPDATE",),
    68: ("TOPIC_MIGRATED",),
}  # fmt: skip
"""The same of what brokers send; a `MESSAGE` is known by its entry id."""


def _paths(commands: dict[int, tuple[str | int, ...]]) -> dict[int, tuple[str, tuple[int, ...]]]:
    return {kind: (str(name), (kind, *map(int, path)) if path else ()) for kind, (name, *path) in commands.items()}


_REQUESTS = _paths(_BY_CLIENTS)
_ANSWERS = _paths(_BY_BROKERS)

_OF_A_SEND, _PRODUCER = {"SEND": 6, "SEND_RECEIPT": 7, "SEND_ERROR": 8}, 1
"""Commands with a sequence id, by the numbers of their fields, and the number of the producer's id in each."""

MESSAGES = tuple(name for name, _ in _REQUESTS.values())
ANSWERS = tuple(name for name, _ in _ANSWERS.values())

_ERRORS = {
    "MetadataError": 1, "PersistenceError": 2, "AuthorizationError": 4, "ServiceNotReady": 6,
    "ProducerBlockedQuotaExceededError": 7, "ProducerBlockedQuotaExceededException": 8, "ChecksumError": 9,
    "TopicNotFound": 11, "TopicTerminatedError": 15, "InvalidTxnStatus": 21, "NotAllowedError": 22,
    "TransactionConflict": 23, "TransactionNotFound": 24, "ProducerFenced": 25,
}  # fmt: skip
"""Codes of errors (`ServerError`) that a send may have."""

REFUSABLE = {"SEND_RECEIPT": tuple(_ERRORS)}
"""See `chaoskit.contract.systems.wire.Wire`; a `SEND_ERROR` takes the place of the receipt."""

_SEND_ERROR = 8
_REASON = b"chaoskit"

_COMMAND = struct.Struct(">4xi")
_TYPE = 1
_COMMAND_BYTES_MIN = 2

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""How protobuf writes a field."""


class PulsarDecoder(SizePrefixed):
    """See `chaoskit.contract.systems.wire.Decoder`. The correlation of a command is 0 if it has none, or if names of
    topics push it behind the first 1024 bytes."""

    head = 1024
    size_min = 4 + _COMMAND_BYTES_MIN

    def length(self, begin: bytes) -> int | None:
        length = super().length(begin)
        if length is None or len(begin) < _COMMAND.size:
            return None
        command: int = _COMMAND.unpack_from(begin)[0]
        if not _COMMAND_BYTES_MIN <= command <= length - _COMMAND.size:
            raise ValueError(f"a frame of {length} bytes with a command of {command} bytes")
        return length

    def request(self, head: bytes) -> Header | None:
        return _header(head, _REQUESTS)

    def response(self, head: bytes) -> Header | None:
        return _header(head, _ANSWERS)

    def pair(self, header: Header, head: bytes, *, answers: bool) -> Hashable | None:
        """See `chaoskit.contract.systems.wire.Pairing`; sequence ids are those of a producer."""
        if header.message not in _OF_A_SEND:
            return None
        return _producer(header, head), header.correlation

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        send_error = b"".join([
            b"\x08", as_varint(_producer(header, response)), b"\x10", as_varint(header.correlation % (1 << 64)),
            b"\x18", as_varint(_ERRORS[error]), b"\x22", as_varint(len(_REASON)), _REASON,
        ])  # fmt: skip
        command = b"".join([b"\x08", as_varint(_SEND_ERROR), b"\x42", as_varint(len(send_error)), send_error])
        return self.framed(self.framed(command))


def _header(head: bytes, commands: dict[int, tuple[str, tuple[int, ...]]]) -> Header | None:
    """Return the header of a command that this direction has."""
    if len(head) < _COMMAND.size:
        return None
    end = _end(head)
    try:
        name, path = commands[_field(head, _COMMAND.size, end, _TYPE)[0]]
    except LookupError:
        return None
    return Header(name, _number(head, end, path))


def _producer(header: Header, head: bytes) -> int:
    """Return the id of the producer of a command that is in `_OF_A_SEND`."""
    return _number(head, _end(head), (_OF_A_SEND[header.message], _PRODUCER))


def _end(head: bytes) -> int:
    """Return where the command ends, or what is there of it."""
    return min(len(head), _COMMAND.size + int(_COMMAND.unpack_from(head)[0]))


def _number(head: bytes, end: int, path: tuple[int, ...]) -> int:
    """Return the number to which a path leads through the command; 0 if it is not there."""
    at, value = _COMMAND.size, 0
    try:
        for number in path:
            value, at = _field(head, at, end, number)
            end = min(end, at + value)
    except LookupError:
        return 0
    return value - (1 << 64) if value >> 63 else value


def _field(head: bytes, at: int, end: int, number: int) -> tuple[int, int]:
    """Return a field's value, or its length if it is a structure, and where the bytes behind that are.

    Raises:
        LookupError: it is not between `at` and `end`.
    """
    while at < end:
        key, at = varint(head, at)
        kind = key & 7
        value, at = varint(head, at) if kind in {_VARINT, _BYTES} else (0, at)
        if key >> 3 == number:
            return value, at
        if kind == _BYTES:
            at += value
        elif kind != _VARINT:
            at += {_FIXED64: 8, _FIXED32: 4}[kind]
    raise LookupError(number)
