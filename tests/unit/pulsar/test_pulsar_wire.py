"""Pulsar's commands on the wire: names of both directions, correlation, lengths, and what is no frame."""

from __future__ import annotations

import struct

import pytest
from decoders import joined, old_add, old_added, refused

from chaoskit.contract.systems.wire import Header
from chaoskit.testing.conformance import check_decoder
from clusters.pulsar.settings import WIRE
from clusters.pulsar.wire import ANSWERS, MESSAGES, PulsarDecoder
from clusters.storage.settings import BOOKIE_PORT

BY_CLIENTS = {
    "CONNECT": "00000025000000210802121d0a05342e302e371a0020132a046e6f6e65520a08011001180128013001",
    "LOOKUP": "00000038000000340817ba012f0a2970657273697374656e743a2f2f7075626c69632f64656661756c742f742d70617274697469"
    "6f6e2d3010071800",
    "PRODUCER": "0000003b0000003708052a330a1d70657273697374656e743a2f2f7075626c69632f64656661756c742f74100318ac02220370"
    "2d3128004000480050006000",
    "SEND": "0000002c0000000c0806320808031080e497d0120e01347ac53e0000000d0a03702d311080e497d012180168656c6c6f",
    "SUBSCRIBE": "0000004e0000004a080422460a1d70657273697374656e743a2f2f7075626c69632f64656661756c742f7412037375621801"
    "200428ad023201633800400158006801700078019801ffffffffffffffffff01",
    "FLOW": "0000000d00000009080b5a05080410e807",
    "ACK": "0000001400000010080a520c080410001a04080b1016404d",
    "END_TXN": "000000110000000d0838c203080809100118002000",
}
BY_BROKERS = {
    "LOOKUP_RESPONSE": "000000220000001e0818c201190a0f70756c7361723a2f2f623a363635301801200728014000",
    "PRODUCER_SUCCESS": "000000200000001c08118a011708ac021203702d3118ffffffffffffffffff0122003001",
    "SEND_RECEIPT": "000000180000001408073a1008031080e497d0121a04080b10162000",
    "SEND_ERROR": "000000110000000d08084209080310081802220178",
    "MESSAGE": "0000001d0000001908094a150804120f080b101618ffffffffffffffffff012800",
    "ACK_RESPONSE": "0000000d000000090826b202040804304d",
    "GET_LAST_MESSAGE_ID_RESPONSE": "0000002e0000002a081ef201250a1a080b101618ffffffffffffffffff0120ffffffffffffffffff"
    "0110b6021a04080b1015",
    "CLOSE_CONSUMER": "0000001600000012081082010d080410ffffffffffffffffff01",
    "ERROR": "0000000f0000000b080e72070809100b1a0178",
}
"""As `Commands` of Pulsar 4.0.7 writes them."""

CORRELATIONS = {
    "CONNECT": 0, "LOOKUP": 7, "PRODUCER": 300, "SEND": 5_000_000_000, "SUBSCRIBE": 301, "FLOW": 0, "ACK": 77,
    "END_TXN": 9, "LOOKUP_RESPONSE": 7, "PRODUCER_SUCCESS": 300, "SEND_RECEIPT": 5_000_000_000, "SEND_ERROR": 8,
    "MESSAGE": 22, "ACK_RESPONSE": 77, "GET_LAST_MESSAGE_ID_RESPONSE": 310, "CLOSE_CONSUMER": -1, "ERROR": 9,
}  # fmt: skip


def frame(command: bytes, payload: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(command) + len(payload), len(command)) + command + payload


def asked(name: str) -> bytes:
    return bytes.fromhex(BY_CLIENTS[name])


def answered(name: str) -> bytes:
    return bytes.fromhex(BY_BROKERS[name])


def with_payload(message: bytes, size: int) -> bytes:
    """Return a message with so many bytes behind it."""
    return struct.pack(">i", len(message) - 4 + size) + message[4:] + bytes(size)


def test_the_decoder_is_whole() -> None:
    requests = [*map(asked, BY_CLIENTS), with_payload(asked("SEND"), 3000), frame(b"\x08\x12\x92\x01\0")]
    answers = [*map(answered, BY_BROKERS), with_payload(answered("MESSAGE"), 3000), frame(b"\x08\x13\x9a\x01\0")]

    check_decoder(WIRE, requests, answers)


@pytest.mark.parametrize("name", BY_CLIENTS)
def test_what_clients_send_has_its_name_and_correlation(name: str) -> None:
    assert PulsarDecoder().request(asked(name)) == Header(name, CORRELATIONS[name])


@pytest.mark.parametrize("name", BY_BROKERS)
def test_what_brokers_send_has_its_name_and_correlation(name: str) -> None:
    assert PulsarDecoder().response(answered(name)) == Header(name, CORRELATIONS[name])


@pytest.mark.parametrize("name", [*BY_CLIENTS, *BY_BROKERS])
def test_a_head_that_is_cut_has_its_name_without_a_correlation(name: str) -> None:
    whole = asked(name) if name in BY_CLIENTS else answered(name)
    decoder = PulsarDecoder()
    read = decoder.request if name in BY_CLIENTS else decoder.response

    headers = [read(whole[:size]) for size in range(len(whole) + 1)]

    assert headers[:10] == [None] * 10
    assert {*headers[10:]} <= {Header(name, 0), Header(name, CORRELATIONS[name])}


def test_each_direction_has_names_of_its_own() -> None:
    assert {*MESSAGES} & {*ANSWERS} == {"PING", "PONG", "CLOSE_PRODUCER", "CLOSE_CONSUMER"}
    assert PulsarDecoder().request(answered("SEND_RECEIPT")) is None
    assert PulsarDecoder().response(asked("SEND")) is None
    assert (len({*MESSAGES}), len({*ANSWERS})) == (len(MESSAGES), len(ANSWERS)) == (30, 32)


def test_numbers_in_other_fields_are_not_taken() -> None:
    """A topic whose bytes look like the field with the request id, and fields in another order."""
    topic = b"\x18\x63"
    inner = b"\x22\x02\x18\x05" + b"\x0a" + bytes([len(topic)]) + topic + b"\x18\x2a" + b"\x10\x07"

    header = PulsarDecoder().request(frame(b"\x08\x05\x2a" + bytes([len(inner)]) + inner, b"\x18\x01"))

    assert header == Header("PRODUCER", 42)


def test_a_payload_is_not_read_as_a_command() -> None:
    assert PulsarDecoder().request(frame(b"\x08\x06", b"\x32\x04\x08\x01\x10\x05")) == Header("SEND", 0)


def test_fields_of_a_fixed_size_are_skipped() -> None:
    inner = b"\x21" + bytes(8) + b"\x35" + bytes(4) + b"\x08\x09"

    header = PulsarDecoder().response(frame(b"\x08\x1a\xd2\x01" + bytes([len(inner)]) + inner))

    assert header == Header("CONSUMER_STATS_RESPONSE", 9)


def test_a_topic_that_is_longer_than_the_head_leaves_the_correlation_unknown() -> None:
    inner = b"\x0a\xd0\x0f" + bytes(2000) + b"\x10\x07"
    whole = frame(b"\x08\x17\xba\x01\xd5\x0f" + inner)

    assert PulsarDecoder().request(whole) == Header("LOOKUP", 7)
    assert PulsarDecoder().request(whole[: PulsarDecoder.head]) == Header("LOOKUP", 0)


@pytest.mark.parametrize("command", [b"\x08\x45", b"\x08\x80\x80", b"\x0f\x01", b"\x10\x06", b"\x08\0"])
def test_unknown_commands_have_no_header(command: bytes) -> None:
    assert PulsarDecoder().request(frame(command)) is None
    assert PulsarDecoder().response(frame(command)) is None


@pytest.mark.parametrize(
    "begin",
    [
        b"GET /metrics HTTP/1.1", b"\x16\x03\x01\x02\x00\x01", b"\r\n\r\n\0\r\nQUIT\n", b"\x80\0\0\0", b"\0\0\0\0",
        b"\0\0\0\x05", b"\0\0\0\x10\0\0\0\x0d", b"\0\0\0\x10\0\0\0\0", b"\0\0\0\x10\xff\xff\xff\xff",
    ],
)  # fmt: skip
def test_what_is_no_frame_is_told(begin: bytes) -> None:
    with pytest.raises(ValueError, match="a frame of"):
        PulsarDecoder().length(begin)


def test_a_receipt_is_joined_with_what_the_same_producer_sent() -> None:
    assert (
        joined(PulsarDecoder(), asked("SEND"), answers=False)
        == joined(PulsarDecoder(), answered("SEND_RECEIPT"), answers=True)
        == (3, 5_000_000_000)
    )
    other = answered("SEND_RECEIPT").replace(b"\x08\x03\x10\x80", b"\x08\x04\x10\x80")
    assert joined(PulsarDecoder(), other, answers=True) == (4, 5_000_000_000)
    assert joined(PulsarDecoder(), answered("SEND_ERROR"), answers=True) == (3, 8)


def test_other_commands_are_joined_with_nothing() -> None:
    assert joined(PulsarDecoder(), answered("MESSAGE"), answers=True) is None
    assert joined(PulsarDecoder(), asked("LOOKUP"), answers=False) is None


def test_what_brokers_tell_their_bookies_is_known_by_its_port() -> None:
    check_decoder(WIRE, [old_add(3)], [old_added(3)], port=BOOKIE_PORT)


def test_a_receipt_becomes_an_error() -> None:
    changed = refused(PulsarDecoder(), answered("SEND_RECEIPT"), "PersistenceError")

    assert PulsarDecoder().length(changed) == len(changed)
    assert PulsarDecoder().response(changed) == Header("SEND_ERROR", 5_000_000_000)
    assert changed[8:].hex() == "080842140803" + "1080e497d012" + "1802" + "2208" + b"chaoskit".hex()
