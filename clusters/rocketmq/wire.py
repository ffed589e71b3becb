"""RocketMQ's remoting protocol on the wire: frames with a header, as JSON or in its own binary form, and a body.

Responses come in any order, and have the number of their request (`opaque`). Servers ask clients too, on the same
connections. A stand-alone module: see `chaoskit.contract.systems.wire`. Sources: `RemotingCommand`,
`RocketMQSerializable` and `NettyDecoder` of RocketMQ 5.4, and `RequestCode` of 5.1 to 5.5.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from chaoskit.contract.systems.wire import Header, SizePrefixed

_CODES = """
10:SEND_MESSAGE 11:PULL_MESSAGE 12:QUERY_MESSAGE 13:QUERY_BROKER_OFFSET 14:QUERY_CONSUMER_OFFSET
15:UPDATE_CONSUMER_OFFSET 17:UPDATE_AND_CREATE_TOPIC 18:UPDATE_AND_CREATE_TOPIC_LIST 21:GET_ALL_TOPIC_CONFIG
22:GET_TOPIC_CONFIG_LIST 23:GET_TOPIC_NAME_LIST 25:UPDATE_BROKER_CONFIG 26:GET_BROKER_CONFIG 27:TRIGGER_DELETE_FILES
28:GET_BROKER_RUNTIME_INFO 29:SEARCH_OFFSET_BY_TIMESTAMP 30:GET_MAX_OFFSET 31:GET_MIN_OFFSET
32:GET_EARLIEST_MSG_STORETIME 33:VIEW_MESSAGE_BY_ID 34:HEART_BEAT 35:UNREGISTER_CLIENT 36:CONSUMER_SEND_MSG_BACK
37:END_TRANSACTION 38:GET_CONSUMER_LIST_BY_GROUP 39:CHECK_TRANSACTION_STATE 40:NOTIFY_CONSUMER_IDS_CHANGED
41:LOCK_BATCH_MQ 42:UNLOCK_BATCH_MQ 43:GET_ALL_CONSUMER_OFFSET 45:GET_ALL_DELAY_OFFSET 46:CHECK_CLIENT_CONFIG
47:GET_CLIENT_CONFIG 50:UPDATE_AND_CREATE_ACL_CONFIG 51:DELETE_ACL_CONFIG 52:GET_BROKER_CLUSTER_ACL_INFO
53:UPDATE_GLOBAL_WHITE_ADDRS_CONFIG 54:GET_BROKER_CLUSTER_ACL_CONFIG 60:GET_TIMER_CHECK_POINT 61:GET_TIMER_METRICS
100:PUT_KV_CONFIG 101:GET_KV_CONFIG 102:DELETE_KV_CONFIG 103:REGISTER_BROKER 104:UNREGISTER_BROKER
105:GET_ROUTEINFO_BY_TOPIC 106:GET_BROKER_CLUSTER_INFO 200:UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
201:GET_ALL_SUBSCRIPTIONGROUP_CONFIG 202:GET_TOPIC_STATS_INFO 203:GET_CONSUMER_CONNECTION_LIST
204:GET_PRODUCER_CONNECTION_LIST 205:WIPE_WRITE_PERM_OF_BROKER 206:GET_ALL_TOPIC_LIST_FROM_NAMESERVER
207:DELETE_SUBSCRIPTIONGROUP 208:GET_CONSUME_STATS 209:SUSPEND_CONSUMER 210:RESUME_CONSUMER
211:RESET_CONSUMER_OFFSET_IN_CONSUMER 212:RESET_CONSUMER_OFFSET_IN_BROKER 213:ADJUST_CONSUMER_THREAD_POOL
214:WHO_CONSUME_THE_MESSAGE 215:DELETE_TOPIC_IN_BROKER 216:DELETE_TOPIC_IN_NAMESRV 217:REGISTER_TOPIC_IN_NAMESRV
219:GET_KVLIST_BY_NAMESPACE 220:RESET_CONSUMER_CLIENT_OFFSET 221:GET_CONSUMER_STATUS_FROM_CLIENT
222:INVOKE_BROKER_TO_RESET_OFFSET 223:INVOKE_BROKER_TO_GET_CONSUMER_STATUS 224:GET_TOPICS_BY_CLUSTER
225:UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST 300:QUERY_TOPIC_CONSUME_BY_WHO 301:REGISTER_FILTER_SERVER
302:REGISTER_MESSAGE_FILTER_CLASS 303:QUERY_CONSUME_TIME_SPAN 304:GET_SYSTEM_TOPIC_LIST_FROM_NS
305:GET_SYSTEM_TOPIC_LIST_FROM_BROKER 306:CLEAN_EXPIRED_CONSUMEQUEUE 307:GET_CONSUMER_RUNNING_INFO
308:QUERY_CORRECTION_OFFSET 309:CONSUME_MESSAGE_DIRECTLY 310:SEND_MESSAGE_V2 311:GET_UNIT_TOPIC_LIST
312:GET_HAS_UNIT_SUB_TOPIC_LIST 313:GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST 314:CLONE_GROUP_OFFSET
315:VIEW_BROKER_STATS_DATA 316:CLEAN_UNUSED_TOPIC 317:GET_BROKER_CONSUME_STATS 318:UPDATE_NAMESRV_CONFIG
319:GET_NAMESRV_CONFIG 320:SEND_BATCH_MESSAGE 321:QUERY_CONSUME_QUEUE 322:QUERY_DATA_VERSION
323:RESUME_CHECK_HALF_MESSAGE 324:SEND_REPLY_MESSAGE 325:SEND_REPLY_MESSAGE_V2 326:PUSH_REPLY_MESSAGE_TO_CLIENT
327:ADD_WRITE_PERM_OF_BROKER 328:GET_ALL_PRODUCER_INFO 329:DELETE_EXPIRED_COMMITLOG 343:QUERY_TOPICS_BY_CONSUMER
345:QUERY_SUBSCRIPTION_BY_CONSUMER 351:GET_TOPIC_CONFIG 352:GET_SUBSCRIPTIONGROUP_CONFIG
353:UPDATE_AND_GET_GROUP_FORBIDDEN 354:CHECK_ROCKSDB_CQ_WRITE_PROGRESS 355:EXPORT_ROCKSDB_CONFIG_TO_JSON
361:LITE_PULL_MESSAGE 370:RECALL_MESSAGE 400:QUERY_ASSIGNMENT 401:SET_MESSAGE_REQUEST_MODE
402:GET_ALL_MESSAGE_REQUEST_MODE 513:UPDATE_AND_CREATE_STATIC_TOPIC 901:GET_BROKER_MEMBER_GROUP 902:ADD_BROKER
903:REMOVE_BROKER 904:BROKER_HEARTBEAT 905:NOTIFY_MIN_BROKER_ID_CHANGE 906:EXCHANGE_BROKER_HA_INFO
907:GET_BROKER_HA_STATUS 908:RESET_MASTER_FLUSH_OFFSET 1001:CONTROLLER_ALTER_SYNC_STATE_SET
1002:CONTROLLER_ELECT_MASTER 1003:CONTROLLER_REGISTER_BROKER 1004:CONTROLLER_GET_REPLICA_INFO
1005:CONTROLLER_GET_METADATA_INFO 1006:CONTROLLER_GET_SYNC_STATE_DATA 1007:GET_BROKER_EPOCH_CACHE
1008:NOTIFY_BROKER_ROLE_CHANGED 1009:UPDATE_CONTROLLER_CONFIG 1010:GET_CONTROLLER_CONFIG 1011:CLEAN_BROKER_DATA
1012:CONTROLLER_GET_NEXT_BROKER_ID 1013:CONTROLLER_APPLY_BROKER_ID 2001:UPDATE_COLD_DATA_FLOW_CTR_CONFIG
2002:REMOVE_COLD_DATA_FLOW_CTR_CONFIG 2003:GET_COLD_DATA_FLOW_CTR_INFO 2004:SET_COMMITLOG_READ_MODE
3001:AUTH_CREATE_USER 3002:AUTH_UPDATE_USER 3003:AUTH_DELETE_USER 3004:AUTH_GET_USER 3005:AUTH_LIST_USER
3006:AUTH_CREATE_ACL 3007:AUTH_UPDATE_ACL 3008:AUTH_DELETE_ACL 3009:AUTH_GET_ACL 3010:AUTH_LIST_ACL
5001:SWITCH_TIMER_ENGINE 200050:POP_MESSAGE 200051:ACK_MESSAGE 200052:PEEK_MESSAGE 200053:CHANGE_MESSAGE_INVISIBLETIME
200054:NOTIFICATION 200055:POLLING_INFO 200056:POP_ROLLBACK 200070:POP_LITE_MESSAGE 200071:LITE_SUBSCRIPTION_CTL
200072:ACK_LITE_MESSAGE 200073:NOTIFY_UNSUBSCRIBE_LITE 200074:GET_BROKER_LITE_INFO 200075:GET_PARENT_TOPIC_INFO
200076:GET_LITE_TOPIC_INFO 200077:GET_LITE_CLIENT_INFO 200078:GET_LITE_GROUP_INFO 200079:TRIGGER_LITE_DISPATCH
200151:BATCH_ACK_MESSAGE
"""
"""The requests with their codes; some of them were removed in between."""

_NAMES = {int(code): name for code, _, name in (entry.partition(":") for entry in _CODES.split())}

MESSAGES = tuple(_NAMES.values())

_ERRORS = {
    "SYSTEM_ERROR": 1, "SYSTEM_BUSY": 2, "FLUSH_DISK_TIMEOUT": 10, "SLAVE_NOT_AVAILABLE": 11, "FLUSH_SLAVE_TIMEOUT": 12,
    "MESSAGE_ILLEGAL": 13, "SERVICE_NOT_AVAILABLE": 14, "NO_PERMISSION": 16, "TOPIC_NOT_EXIST": 17,
}  # fmt: skip
"""Codes of errors, as in `ResponseCode`."""

REFUSABLE = dict.fromkeys(
    (
        "SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "CONSUMER_SEND_MSG_BACK", "UPDATE_CONSUMER_OFFSET",
        "ACK_MESSAGE", "CHANGE_MESSAGE_INVISIBLETIME", "END_TRANSACTION", "LOCK_BATCH_MQ",
    ),
    tuple(_ERRORS),
)  # fmt: skip
"""See `chaoskit.contract.systems.wire.Wire`."""

_HEADER = struct.Struct(">4xBBH")
"""The type of a header, and the three bytes of its length."""

_BINARY_HEADER = struct.Struct(">hBhii")
"""Code, language, version, number and flags."""

_JSON, _BINARY = 0, 1
_RESPONSE, _ONE_WAY = 1, 2
_FRAME_BYTES_MAX = 1 << 27
"""Servers take 16 MiB by default."""

_UNANSWERED_MAX = 100_000

_NUMBERS = {b"code", b"flag", b"opaque"}
_UNKNOWN = (-1, 0, 0)

_FIELD = re.compile(
    rb"""
    \s*+ [{,] \s*+ "(\w++)" \s*+ : \s*+
    (
        -?+ \d++ | [a-z]++ | " (?: [^"\\]++ | \\. )*+ "
        | \{ (?: [^{}"]++ | " (?: [^"\\]++ | \\. )*+ " )*+ \}
    )
    (?= \s*+ [,}] )
    """,
    re.VERBOSE | re.DOTALL,
)
"""One field of a header as JSON, with what is before it. A field's value may be a structure of texts (`extFields`)."""


class RemotingDecoder(SizePrefixed):
    """See `chaoskit.contract.systems.wire.Decoder`. A header is unknown if its numbers are behind the first 4096
    bytes."""

    head = 4096
    size_min = 5

    def __init__(self) -> None:
        self._unanswered: dict[int, Header] = {}

    def length(self, begin: bytes) -> int | None:
        length = super().length(begin)
        if length is None or len(begin) < _HEADER.size:
            return None
        kind, header = _header(begin)
        if kind not in {_JSON, _BINARY} or not 0 < header <= length - _HEADER.size:
            raise ValueError(f"a frame of {length} bytes with a header of {header} bytes and type {kind}")
        return length

    def request(self, head: bytes) -> Header | None:
        """Return the header of a request; None for a client's response to a server."""
        code, flags, opaque = _numbers(head)
        if flags & _RESPONSE or code not in _NAMES:
            return None
        header = Header(_NAMES[code], opaque)
        if not flags & _ONE_WAY:
            self._remember(header)
        return header

    def response(self, head: bytes) -> Header | None:
        """Return the header of the request that it answers, or of a request of the server."""
        code, flags, opaque = _numbers(head)
        if flags & _RESPONSE:
            return self._unanswered.pop(opaque, None)
        return Header(_NAMES[code], opaque) if code in _NAMES else None

    def pair(self, header: Header, head: bytes, *, answers: bool) -> int | None:
        """See `chaoskit.contract.systems.wire.Pairing`; what a server asks has numbers of its own."""
        is_response = bool(_numbers(head)[1] & _RESPONSE)
        return header.correlation if is_response == answers else None

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        kind, size = _header(response)
        if kind == _BINARY:
            return response[: _HEADER.size] + struct.pack(">h", _ERRORS[error]) + response[_HEADER.size + 2 :]
        match = next((field for field in _fields(response, _HEADER.size + size) if field[1] == b"code"), None)
        if match is None:
            raise ValueError("a header without a code")
        code = str(_ERRORS[error]).encode()
        changed = response[_HEADER.size : match.start(2)] + code + response[match.end(2) :]
        size += len(code) - len(match[2])
        return self.framed(struct.pack(">BBH", kind, size >> 16, size & 0xFFFF) + changed)

    def _remember(self, header: Header) -> None:
        """Forget the oldest request if there are too many that have no answer yet."""
        self._unanswered.pop(header.correlation, None)
        self._unanswered[header.correlation] = header
        if len(self._unanswered) > _UNANSWERED_MAX:
            del self._unanswered[next(iter(self._unanswered))]


def _header(begin: bytes) -> tuple[int, int]:
    """Return the type of a header, and its length."""
    kind, high, low = _HEADER.unpack_from(begin)
    return kind, high << 16 | low


def _numbers(head: bytes) -> tuple[int, int, int]:
    """Return a header's code, flags and number (`opaque`)."""
    if len(head) < _HEADER.size:
        return _UNKNOWN
    kind, size = _header(head)
    if kind == _JSON:
        return _json_numbers(head, _HEADER.size + size)
    if size < _BINARY_HEADER.size or len(head) < _HEADER.size + _BINARY_HEADER.size:
        return _UNKNOWN
    code, _, _, opaque, flags = _BINARY_HEADER.unpack_from(head, _HEADER.size)
    return code, flags, opaque


def _fields(head: bytes, end: int) -> Iterator[re.Match[bytes]]:
    """Yield the fields of a header as JSON at its top level, as far as they are there."""
    field = _FIELD.match(head, _HEADER.size, end)
    while field:
        yield field
        field = _FIELD.match(head, field.end(), end)


def _json_numbers(head: bytes, end: int) -> tuple[int, int, int]:
    """Go over the fields of a header at its top level until all numbers are found."""
    numbers: dict[bytes, bytes] = {}
    for field in _fields(head, end):
        numbers[field[1]] = field[2]
        if numbers.keys() >= _NUMBERS:
            break
    try:
        return int(numbers[b"code"]), int(numbers[b"flag"]), int(numbers[b"opaque"])
    except (KeyError, ValueError):
        return _UNKNOWN
