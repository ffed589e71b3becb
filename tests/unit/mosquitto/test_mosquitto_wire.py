"""MQTT's packets on the wire: lengths, names, packet and client identifiers."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from decoders import joined

from chaoskit.contract.systems.wire import Header
from chaoskit.testing.conformance import check_decoder
from clusters.mosquitto.settings import WIRE
from clusters.mosquitto.wire import ANSWERS, MESSAGES, MqttDecoder


def packet(kind: int, body: bytes = b"", flags: int = 0) -> bytes:
    size, rest = b"", len(body)
    while True:
        rest, byte = divmod(rest, 128)
        size += bytes([byte | (0x80 if rest else 0)])
        if not rest:
            return bytes([kind << 4 | flags]) + size + body


def text(content: str) -> bytes:
    return struct.pack(">H", len(content)) + content.encode()


def connect(client: str, version: int = 4, properties: bytes = b"", more: bytes = b"") -> bytes:
    head = text("MQTT") + bytes([version, 2]) + struct.pack(">H", 60)
    return packet(1, head + (bytes([len(properties)]) + properties if version == 5 else b"") + text(client) + more)


def publish(identifier: int, size: int, qos: int = 1) -> bytes:
    return packet(3, text("feed-0") + (struct.pack(">H", identifier) if qos else b"") + bytes(size), qos << 1)


def acked(kind: int, identifier: int) -> bytes:
    return packet(kind, struct.pack(">H", identifier))


REQUESTS = [publish(1, 0), publish(2, 130), publish(3, 20_000), packet(12)]
RESPONSES = [packet(2, bytes(2)), acked(4, 1), publish(9, 300), packet(13)]


def test_the_decoder_is_whole() -> None:
    check_decoder(WIRE, [connect("producer-0", version=5, more=bytes(2000)), *REQUESTS], RESPONSES)


def test_the_decoder_is_whole_without_reason_codes() -> None:
    check_decoder(replace(WIRE, refusable={}), [connect("producer-0", more=bytes(2000)), *REQUESTS], RESPONSES)


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (publish(7, 20), Header("PUBLISH", 7)),
        (publish(7, 20, qos=2), Header("PUBLISH", 7)),
        (publish(7, 20, qos=0), Header("PUBLISH", 0)),
        (acked(4, 258), Header("PUBACK", 258)),
        (packet(6, struct.pack(">H", 3), 2), Header("PUBREL", 3)),
        (packet(14), Header("DISCONNECT", 0)),
    ],
)
def test_what_both_send_has_its_name_and_identifier(message: bytes, header: Header) -> None:
    assert MqttDecoder().request(message) == MqttDecoder().response(message) == header


def test_what_only_one_of_them_sends_has_no_header_from_the_other() -> None:
    assert MqttDecoder().request(packet(2, bytes(2))) is None
    assert MqttDecoder().response(packet(12)) is None
    assert MqttDecoder().request(packet(12)) == Header("PINGREQ", 0)
    assert MqttDecoder().response(packet(2, bytes(2))) == Header("CONNACK", 0)


@pytest.mark.parametrize(
    "first",
    [connect("c-1"), connect("c-1", more=bytes(3000)), connect("c-1", 5), connect("c-1", 5, bytes(20))],
    ids=["3.1.1", "with a will", "5", "with properties"],
)
def test_packets_have_the_client_of_their_connection(first: bytes) -> None:
    decoder = MqttDecoder()
    assert decoder.length(first[:10]) is None
    assert decoder.length(first[: decoder.head]) == len(first)
    assert decoder.request(publish(1, 5)) == Header("PUBLISH", 1, "c-1")
    assert decoder.response(acked(4, 1)) == Header("PUBACK", 1, "c-1")


@pytest.mark.parametrize("begin", [b"\0\0", b"\x30\xff\xff\xff\xff\x01"])
def test_what_is_no_packet_is_told(begin: bytes) -> None:
    with pytest.raises(ValueError, match=r"type 0|more than four"):
        MqttDecoder().length(begin)


def test_a_length_of_several_bytes_is_awaited() -> None:
    assert [MqttDecoder().length(publish(1, 20_000)[:size]) for size in range(4)] == [None] * 4
    assert MqttDecoder().length(publish(1, 20_000)[:4]) is not None


def test_each_direction_has_its_names() -> None:
    assert len(MESSAGES) == len(ANSWERS) == 11
    assert "CONNECT" not in ANSWERS
    assert "CONNACK" not in MESSAGES


def test_what_a_client_publishes_is_joined_with_the_first_answer() -> None:
    assert (
        joined(MqttDecoder(), publish(7, 20), answers=False)
        == joined(MqttDecoder(), acked(4, 7), answers=True)
        == joined(MqttDecoder(), acked(5, 7), answers=True)
    )
    assert joined(MqttDecoder(), publish(7, 20, qos=0), answers=False) is None


def test_what_a_broker_publishes_is_joined_with_nothing() -> None:
    assert joined(MqttDecoder(), publish(7, 20), answers=True) is None
    assert joined(MqttDecoder(), acked(4, 7), answers=False) is None


@pytest.mark.parametrize(("kind", "name"), [(4, "PUBACK"), (5, "PUBREC")])
@pytest.mark.parametrize("response", [b"", b"\0", b"\0\0"])
def test_an_acknowledgement_of_mqtt_5_becomes_an_error(kind: int, name: str, response: bytes) -> None:
    decoder = MqttDecoder()
    decoder.length(connect("c", version=5))
    whole = packet(kind, struct.pack(">H", 9) + response)

    assert decoder.refused(Header(name, 9, "c"), whole, "QUOTA_EXCEEDED") == packet(kind, b"\0\x09\x97")


def test_an_acknowledgement_of_mqtt_3_stays() -> None:
    decoder = MqttDecoder()
    decoder.length(connect("c"))

    with pytest.raises(ValueError, match="only MQTT 5 has reason codes"):
        decoder.refused(Header("PUBACK", 9, "c"), acked(4, 9), "QUOTA_EXCEEDED")
