"""RabbitMQ's messages on the wire: AMQP's methods with their content, and the commands of streams."""

from __future__ import annotations

import struct

import pytest
from decoders import refused

from chaoskit.contract.systems.wire import Header
from chaoskit.testing.conformance import check_decoder
from clusters.rabbitmq.settings import STREAM_PORT, WIRE
from clusters.rabbitmq.wire import ANSWERS, MESSAGES, AmqpDecoder, StreamDecoder


def frame(kind: int, payload: bytes, channel: int = 1) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(group: int, number: int, arguments: bytes = b"", channel: int = 1) -> bytes:
    return frame(1, struct.pack(">HH", group, number) + arguments, channel)


def content(size: int, *, frame_max: int = 131_072) -> bytes:
    most = frame_max - 8
    header = frame(2, struct.pack(">HHQH", 60, 0, size, 0))
    return header + b"".join(frame(3, bytes(min(most, size - at))) for at in range(0, size, most))


def short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def publish(size: int, **how: int) -> bytes:
    return method(60, 40, bytes(2) + short("") + short("queue-0") + b"\0") + content(size, **how)


def deliver(tag: int, size: int) -> bytes:
    arguments = short("ctag-1") + struct.pack(">QB", tag, 0) + short("") + short("queue-0")
    return method(60, 60, arguments) + content(size)


def acked(tag: int, number: int = 80, channel: int = 1) -> bytes:
    return method(60, number, struct.pack(">QB", tag, 0), channel)


def tune_ok(frame_max: int) -> bytes:
    return method(10, 31, struct.pack(">HIH", 2047, frame_max, 60), channel=0)


def command(key: int, body: bytes) -> bytes:
    return struct.pack(">IHH", 4 + len(body), key, 1) + body


def test_the_decoder_is_whole_for_amqp() -> None:
    requests = [b"AMQP\0\0\x09\1", method(10, 11, bytes(300), 0), publish(0), publish(100), publish(300_000), acked(3)]
    responses = [method(10, 10, bytes(400), 0), acked(1), deliver(7, 200), frame(8, b"", 0)]

    check_decoder(WIRE, requests, responses)


def test_the_decoder_is_whole_for_streams() -> None:
    requests = [command(17, bytes(50)), command(2, b"\1" + struct.pack(">IQ", 1, 4) + bytes(700)), command(23, b"")]
    responses = [command(0x8011, bytes(30)), command(3, b"\1" + struct.pack(">IQ", 1, 4)), command(8, bytes(3000))]

    check_decoder(WIRE, requests, responses, port=STREAM_PORT)


@pytest.mark.parametrize(("agreed", "frame_max"), [(4096, 4096), (0, 1 << 28)])
def test_content_is_cut_into_frames_as_was_agreed(agreed: int, frame_max: int) -> None:
    decoder = AmqpDecoder()
    assert decoder.length(tune_ok(agreed)[:12]) is None
    assert decoder.length(tune_ok(agreed)) == len(tune_ok(agreed))
    whole = publish(200_000, frame_max=frame_max)
    assert decoder.length(whole[: decoder.head]) == len(whole)


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (publish(10), Header("basic.publish", 1)),
        (acked(12), Header("basic.ack", 12)),
        (acked(12, 90), Header("basic.reject", 12)),
        (acked(12, 120, channel=4), Header("basic.nack", 12)),
        (method(50, 10, bytes(20), channel=3), Header("queue.declare", 3)),
        (method(85, 10, b"\0"), Header("confirm.select", 1)),
        (frame(8, b"", 0), Header("heartbeat", 0)),
        (method(60, 60, bytes(20)), None),
        (method(99, 10), None),
        (b"AMQP\0\0\x09\1", None),
        (acked(12)[:9], None),
    ],
)
def test_a_request_of_amqp_has_its_name_and_tag(message: bytes, header: Header | None) -> None:
    assert AmqpDecoder().request(message) == header


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (deliver(8, 10), Header("basic.deliver", 8)),
        (acked(1 << 40), Header("basic.ack", 1 << 40)),
        (method(60, 71, struct.pack(">QB", 9, 0) + short("") + short("q") + bytes(4)), Header("basic.get-ok", 9)),
        (method(50, 11, bytes(20)), Header("queue.declare-ok", 1)),
        (publish(10), None),
    ],
)
def test_a_response_of_amqp_has_its_name_and_tag(message: bytes, header: Header | None) -> None:
    assert AmqpDecoder().response(message) == header


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (command(2, b"\1" + struct.pack(">IQ", 2, 77)), Header("Publish", 77, version=1)),
        (command(3, b"\1" + struct.pack(">IQ", 2, 77)), Header("PublishConfirm", 77, version=1)),
        (command(1, struct.pack(">I", 5) + bytes(9)), Header("DeclarePublisher", 5, version=1)),
        (command(0x8001, struct.pack(">IH", 5, 1)), Header("DeclarePublisher", 5, version=1)),
        (command(8, bytes(40)), Header("Deliver", 0, version=1)),
        (command(99, bytes(4)), None),
    ],
)
def test_a_command_of_streams_has_its_name_and_correlation(message: bytes, header: Header | None) -> None:
    assert StreamDecoder().request(message) == StreamDecoder().response(message) == header


@pytest.mark.parametrize(
    "begin",
    [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\x01\0\1\xff\0\0\0\0", b"\0\0\0\2\0\0\0\0",
     method(60, 40, b"") + frame(3, bytes(30)), frame(1, struct.pack(">HH", 60, 40) + bytes(2000))],
)  # fmt: skip
def test_what_is_no_frame_is_told(begin: bytes) -> None:
    with pytest.raises(ValueError, match=r"^a (frame|method) of "):
        AmqpDecoder().length(begin[: AmqpDecoder.head])


def test_names_are_there_once() -> None:
    assert len(set(MESSAGES)) == len(MESSAGES)
    assert len(set(ANSWERS)) == len(ANSWERS)
    assert "basic.deliver" not in MESSAGES
    assert "Publish" not in ANSWERS


def test_an_ack_of_a_broker_becomes_a_nack() -> None:
    assert refused(AmqpDecoder(), acked(12, channel=4), "nack") == acked(12, 120, channel=4)


def test_a_confirm_of_a_stream_becomes_an_error_of_each_message() -> None:
    confirm = command(3, b"\2" + struct.pack(">IQQ", 2, 77, 79))
    error = command(4, b"\2" + struct.pack(">IQHQH", 2, 77, 15, 79, 15))

    assert refused(StreamDecoder(), confirm, "INTERNAL_ERROR") == error
