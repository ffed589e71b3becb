"""RabbitMQ's protocols on the wire: AMQP 0.9.1, and the protocol of streams.

A stand-alone module: see `chaoskit.contract.systems.wire`. Sources: the AMQP 0-9-1 specification (sections 2.3 and 4.2)
with RabbitMQ's extensions, and `deps/rabbitmq_stream/docs/PROTOCOL.adoc` of RabbitMQ 4.
"""

from __future__ import annotations

import struct

from chaoskit.contract.systems.wire import Header, SizePrefixed

_SENT = {
    "connection": {11: "start-ok", 21: "secure-ok", 31: "tune-ok", 40: "open", 50: "close", 51: "close-ok",
                   70: "update-secret"},
    "channel": {10: "open", 20: "flow", 21: "flow-ok", 40: "close", 41: "close-ok"},
    "exchange": {10: "declare", 20: "delete", 30: "bind", 40: "unbind"},
    "queue": {10: "declare", 20: "bind", 30: "purge", 40: "delete", 50: "unbind"},
    "basic": {10: "qos", 20: "consume", 30: "cancel", 31: "cancel-ok", 40: "publish", 70: "get", 80: "ack",
              90: "reject", 100: "recover-async", 110: "recover", 120: "nack"},
    "confirm": {10: "select"},
    "tx": {10: "select", 20: "commit", 30: "rollback"},
}  # fmt: skip
_ANSWERED = {
    "connection": {10: "start", 20: "secure", 30: "tune", 41: "open-ok", 50: "close", 51: "close-ok", 60: "blocked",
                   61: "unblocked", 71: "update-secret-ok"},
    "channel": {11: "open-ok", 20: "flow", 21: "flow-ok", 40: "close", 41: "close-ok"},
    "exchange": {11: "declare-ok", 21: "delete-ok", 31: "bind-ok", 51: "unbind-ok"},
    "queue": {11: "declare-ok", 21: "bind-ok", 31: "purge-ok", 41: "delete-ok", 51: "unbind-ok"},
    "basic": {11: "qos-ok", 21: "consume-ok", 30: "cancel", 31: "cancel-ok", 50: "return", 60: "deliver", 71: "get-ok",
              72: "get-empty", 80: "ack", 111: "recover-ok", 120: "nack"},
    "confirm": {11: "select-ok"},
    "tx": {11: "select-ok", 21: "commit-ok", 31: "rollback-ok"},
}  # fmt: skip
_CLASSES = {"connection": 10, "channel": 20, "exchange": 40, "queue": 50, "basic": 60, "confirm": 85, "tx": 90}

_COMMANDS = """
    DeclarePublisher Publish PublishConfirm PublishError QueryPublisherSequence DeletePublisher Subscribe Deliver
    Credit Unsubscribe StoreOffset QueryOffset Create Delete Metadata MetadataUpdate PeerProperties SaslHandshake
    SaslAuthenticate Tune Open Close Heartbeat Route Partitions ConsumerUpdate ExchangeCommandVersions StreamStats
    CreateSuperStream DeleteSuperStream
"""
"""The names of the commands of streams in the order of their keys, from 1."""

_STREAM_COMMANDS = tuple(_COMMANDS.split())

_OF_SERVER = {"PublishConfirm", "PublishError", "Deliver", "MetadataUpdate"}
_OF_CLIENT = {"Publish", "StoreOffset"}
_HEARTBEAT = "heartbeat"


def _by_number(methods: dict[str, dict[int, str]]) -> dict[tuple[int, int], str]:
    return {
        (_CLASSES[group], number): f"{group}.{name}"
        for group, names in methods.items()
        for number, name in names.items()
    }


_STREAM_ERRORS = {"STREAM_NOT_AVAILABLE": 6, "INTERNAL_ERROR": 15, "ACCESS_REFUSED": 16, "PUBLISHER_DOES_NOT_EXIST": 18}

REFUSABLE = {"basic.ack": ("nack",), "PublishConfirm": tuple(_STREAM_ERRORS)}
"""See `chaoskit.contract.systems.wire.Wire`; a `basic.nack` or a `PublishError` takes the place of the confirm."""

_REQUESTS, _RESPONSES = _by_number(_SENT), _by_number(_ANSWERED)
MESSAGES = (*_REQUESTS.values(), _HEARTBEAT, *(command for command in _STREAM_COMMANDS if command not in _OF_SERVER))
ANSWERS = (*_RESPONSES.values(), _HEARTBEAT, *(command for command in _STREAM_COMMANDS if command not in _OF_CLIENT))


_FRAME = struct.Struct(">BHI")
_METHOD_IDS = struct.Struct(">HH")
_TAG = struct.Struct(">Q")
_METHOD, _CONTENT_HEADER, _BODY, _BEAT = 1, 2, 3, 8
_AROUND = _FRAME.size + 1
"""Bytes of a frame that are not its payload."""

_GREETING = b"AMQP"
_GREETING_BYTES = 8
_FRAME_MAX = 131_072
_FRAME_BYTES_MAX = 1 << 28
_TUNE_OK = (10, 31)
_TUNED = struct.Struct(">13xI")
_WITH_CONTENT = {(60, 40), (60, 50), (60, 60), (60, 71)}
_TAGGED = {(60, 71), (60, 80), (60, 90), (60, 120)}
"""Methods that begin with a delivery tag."""

_DELIVER = (60, 60)
_NACK = (60, 120)


class AmqpDecoder:
    """AMQP 0.9.1: a method with content and the frames of that content are one message. Its correlation is its
    delivery tag, or the number of its channel if it has none."""

    head = 1024

    def __init__(self) -> None:
        self._frame_max = _FRAME_MAX

    def length(self, begin: bytes) -> int | None:
        if begin[:1] == _GREETING[:1]:
            return _GREETING_BYTES if len(begin) >= _GREETING_BYTES else None
        if len(begin) < _FRAME.size:
            return None
        kind, _, size = _FRAME.unpack_from(begin)
        if kind not in {_METHOD, _CONTENT_HEADER, _BODY, _BEAT} or size > _FRAME_BYTES_MAX:
            raise ValueError(f"a frame of type {kind} with {size} bytes")
        whole = int(size) + _AROUND
        if kind != _METHOD:
            return whole
        return self._of_method(begin, whole)

    def request(self, head: bytes) -> Header | None:
        return self._header(head, _REQUESTS)

    def response(self, head: bytes) -> Header | None:
        return self._header(head, _RESPONSES)

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        """Make an ack a nack: a tag and `multiple` are in the same places, `requeue` is another bit."""
        return response[: _FRAME.size] + _METHOD_IDS.pack(*_NACK) + response[_FRAME.size + _METHOD_IDS.size :]

    def _of_method(self, begin: bytes, whole: int) -> int | None:
        if len(begin) < _FRAME.size + _METHOD_IDS.size:
            return None
        method = _METHOD_IDS.unpack_from(begin, _FRAME.size)
        if method in _WITH_CONTENT:
            return self._with_content(begin, whole)
        if method == _TUNE_OK:
            if len(begin) < _TUNED.size:
                return None
            self._frame_max = _TUNED.unpack_from(begin)[0] or _FRAME_BYTES_MAX
        return whole

    def _with_content(self, begin: bytes, whole: int) -> int | None:
        """Return the length of a method, its content's header and its content."""
        sized = whole + _FRAME.size + 4
        if len(begin) < sized + 8:
            if sized + 8 > self.head:
                raise ValueError(f"a method of {whole} bytes with content")
            return None
        kind, _, size = _FRAME.unpack_from(begin, whole)
        if kind != _CONTENT_HEADER:
            raise ValueError(f"a frame of type {kind} instead of the header of a content")
        (body,) = _TAG.unpack_from(begin, sized)
        frames = -(-body // (self._frame_max - _AROUND))
        return int(whole + size + _AROUND + body + frames * _AROUND)

    @staticmethod
    def _header(head: bytes, names: dict[tuple[int, int], str]) -> Header | None:
        if len(head) < _AROUND or head[:1] == _GREETING[:1]:
            return None
        kind, channel, _ = _FRAME.unpack_from(head)
        if kind == _BEAT:
            return Header(_HEARTBEAT, channel)
        method = _METHOD_IDS.unpack_from(head, _FRAME.size) if len(head) >= _FRAME.size + _METHOD_IDS.size else (0, 0)
        if kind != _METHOD or method not in names:
            return None
        return Header(names[method], _delivery_tag(head, method, channel))


def _delivery_tag(head: bytes, method: tuple[int, int], channel: int) -> int:
    at = _FRAME.size + _METHOD_IDS.size
    if method == _DELIVER:
        at += 1 + head[at]
    elif method not in _TAGGED:
        return channel
    return int(_TAG.unpack_from(head, at)[0]) if len(head) >= at + _TAG.size else channel


_COMMAND = struct.Struct(">4xHH")
_RESPONSE_BIT = 0x8000
_PUBLISHING_ID = struct.Struct(">13xQ")
_CORRELATION = struct.Struct(">8xI")
_CONFIRM = struct.Struct(">8xBI")
_BY_PUBLISHING_ID = {"Publish", "PublishConfirm", "PublishError"}
_WITHOUT_CORRELATION = {"Deliver", "Credit", "StoreOffset", "MetadataUpdate", "Tune", "Heartbeat"}


class StreamDecoder(SizePrefixed):
    """The protocol of streams. The correlation of what is published is its first publishing id."""

    head = 1024
    size_min, size_max = _COMMAND.size - 4, _FRAME_BYTES_MAX

    def request(self, head: bytes) -> Header | None:
        return self._header(head)

    def response(self, head: bytes) -> Header | None:
        return self._header(head)

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        """Make a confirm an error, which has a code behind each publishing id."""
        publisher, count = _CONFIRM.unpack_from(response)
        ids = struct.unpack_from(f">{count}Q", response, _CONFIRM.size)
        errors = b"".join(struct.pack(">QH", publishing_id, _STREAM_ERRORS[error]) for publishing_id in ids)
        key = _STREAM_COMMANDS.index("PublishError") + 1
        return self.framed(struct.pack(">HHBI", key, header.version, publisher, count) + errors)

    @staticmethod
    def _header(head: bytes) -> Header | None:
        if len(head) < _COMMAND.size:
            return None
        key, version = _COMMAND.unpack_from(head)
        key &= ~_RESPONSE_BIT
        if not 1 <= key <= len(_STREAM_COMMANDS):
            return None
        name = _STREAM_COMMANDS[key - 1]
        where = _PUBLISHING_ID if name in _BY_PUBLISHING_ID else _CORRELATION
        has = name not in _WITHOUT_CORRELATION and len(head) >= where.size
        return Header(name, int(where.unpack_from(head)[0]) if has else 0, "", version)
