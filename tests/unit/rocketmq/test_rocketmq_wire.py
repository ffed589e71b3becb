"""RocketMQ's remoting protocol on the wire: names, numbers, both forms of a header, and who asks whom."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from decoders import refused

from chaoskit.contract.systems.wire import Header
from chaoskit.testing.conformance import check_decoder
from clusters.rocketmq import wire
from clusters.rocketmq.settings import WIRE
from clusters.rocketmq.wire import MESSAGES, RemotingDecoder

SEND = 310
CHECK = 39
RESPONSE, ONE_WAY = 1, 2

REAL = {
    "000000f3000000ea7b22636f6465223a3331302c226578744669656c6473223a7b2261223a2267222c2262223a2274222c2263223a22544257"
    "313032222c2264223a2238222c2265223a2231222c2266223a2230222c2267223a2231222c2268223a2230222c2269223a224b4559535c7530"
    "3030317b5c22636f64655c223a317d5c7530303032222c226a223a2230222c226b223a2266616c7365227d2c22666c6167223a302c226c616e"
    "6775616765223a224a415641222c226f7061717565223a34312c2273657269616c697a655479706543757272656e74525043223a224a534f4e"
    "222c2276657273696f6e223a307d68656c6c6f": Header("SEND_MESSAGE_V2", 41),
    "0000008e010000850136000000000000290000000000000000000000700001610000000167000162000000017400016300000006544257313032"
    "0001640000000138000165000000013100016600000001300001670000000131000168000000013000016900000010"
    "4b455953017b22636f6465223a317d0200016a000000013000016b0000000566616c736568656c6c6f": Header("SEND_MESSAGE_V2", 41),
    "000000630000005f7b22636f6465223a33342c22666c6167223a302c226c616e6775616765223a224a415641222c226f7061717565223a3433"
    "2c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a307d": Header(
        "HEART_BEAT", 43
    ),
    "000000190100001500220000000000002b000000000000000000000000": Header("HEART_BEAT", 43),
    "000000a00100009c00250000000000002a000000020000000000000087000d70726f647563657247726f75700000000167000f636f6d6d69744c"
    "6f674f6666736574000000013200056d73674964000000016d00147472616e53746174655461626c654f6666736574000000013100"
    "10636f6d6d69744f72526f6c6c6261636b0000000138001466726f6d5472616e73616374696f6e436865636b00000005"
    "66616c7365": Header("END_TRANSACTION", 42),
}
REAL_RESPONSES = [
    "0000007d000000797b22636f6465223a302c22666c6167223a312c226c616e6775616765223a224a415641222c226f7061717565223a34312c"
    "2272656d61726b223a2261205c22636f64655c223a35207b78222c2273657269616c697a655479706543757272656e74525043223a224a534f"
    "4e222c2276657273696f6e223a307d",
    "0000002601000022000000000000000029000000010000000d612022636f6465223a35207b7800000000",
]
"""As `RemotingCommand` of RocketMQ 5.5.0 writes them."""


def framed(kind: int, header: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def as_json(fields: dict[str, Any], body: bytes = b"body") -> bytes:
    return framed(0, json.dumps(fields, separators=(",", ":")).encode(), body)


def command(code: int, opaque: int, flag: int = 0, **more: Any) -> bytes:
    """Return a command whose header has the order of RocketMQ's own clients."""
    return as_json({"code": code, **more, "flag": flag, "language": "JAVA", "opaque": opaque, "version": 477})


def binary(code: int, opaque: int, flag: int = 0, body: bytes = b"body") -> bytes:
    return framed(1, struct.pack(">hBhiiii", code, 0, 477, opaque, flag, 0, 0), body)


def test_the_decoder_is_whole() -> None:
    codes = [105, 34, SEND, 11, 10, 320, 15, 200050]
    requests = [
        command(code, number, extFields={"topic": "t" * 300 * number, "code": "9"}) for number, code in enumerate(codes)
    ]
    responses = [command(0, number, RESPONSE, remark="r" * 300 * number) for number in range(len(codes))]

    check_decoder(WIRE, requests, responses)


def test_the_decoder_is_whole_with_binary_headers() -> None:
    codes = [105, 34, SEND, 11]

    check_decoder(
        WIRE,
        [binary(code, number, body=bytes(3000 * number)) for number, code in enumerate(codes)],
        [binary(0, number, RESPONSE, body=bytes(3000 * number)) for number in range(len(codes))],
    )


@pytest.mark.parametrize(("message", "header"), REAL.items())
def test_requests_of_a_real_client_have_their_headers(message: str, header: Header) -> None:
    assert RemotingDecoder().request(bytes.fromhex(message)) == header
    assert RemotingDecoder().length(bytes.fromhex(message)) == len(message) // 2


@pytest.mark.parametrize("message", REAL_RESPONSES)
def test_responses_of_a_real_server_have_the_headers_of_their_requests(message: str) -> None:
    decoder = RemotingDecoder()
    sent = decoder.request(command(SEND, 41))

    assert decoder.response(bytes.fromhex(message)) == sent == Header("SEND_MESSAGE_V2", 41)
    assert decoder.length(bytes.fromhex(message)) == len(message) // 2


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (10, "SEND_MESSAGE"), (11, "PULL_MESSAGE"), (15, "UPDATE_CONSUMER_OFFSET"), (34, "HEART_BEAT"),
        (37, "END_TRANSACTION"), (39, "CHECK_TRANSACTION_STATE"), (40, "NOTIFY_CONSUMER_IDS_CHANGED"),
        (103, "REGISTER_BROKER"), (105, "GET_ROUTEINFO_BY_TOPIC"), (310, "SEND_MESSAGE_V2"),
        (320, "SEND_BATCH_MESSAGE"), (904, "BROKER_HEARTBEAT"), (1001, "CONTROLLER_ALTER_SYNC_STATE_SET"),
        (1008, "NOTIFY_BROKER_ROLE_CHANGED"), (200050, "POP_MESSAGE"), (200051, "ACK_MESSAGE"),
        (200053, "CHANGE_MESSAGE_INVISIBLETIME"), (200151, "BATCH_ACK_MESSAGE"),
    ],
)  # fmt: skip
def test_requests_have_the_names_of_the_protocol(code: int, name: str) -> None:
    assert RemotingDecoder().request(command(code, 7)) == Header(name, 7)


def test_names_differ() -> None:
    assert len({*MESSAGES}) == len(MESSAGES) == 169


def test_responses_come_in_any_order_and_once() -> None:
    decoder = RemotingDecoder()
    for opaque, code in enumerate([SEND, 11, 34]):
        decoder.request(command(code, opaque))

    answered = [decoder.response(command(0, opaque, RESPONSE)) for opaque in (2, 0, 1, 1)]

    assert answered == [Header("HEART_BEAT", 2), Header("SEND_MESSAGE_V2", 0), Header("PULL_MESSAGE", 1), None]


def test_a_request_of_a_broker_has_its_own_name() -> None:
    """It has the number of a client's request by chance, and that one is still answered."""
    decoder = RemotingDecoder()
    sent = decoder.request(command(SEND, 5))

    assert decoder.response(command(CHECK, 5, ONE_WAY)) == Header("CHECK_TRANSACTION_STATE", 5)
    assert decoder.response(binary(40, 5)) == Header("NOTIFY_CONSUMER_IDS_CHANGED", 5)
    assert decoder.request(command(0, 5, RESPONSE)) is None
    assert decoder.response(command(0, 5, RESPONSE)) == sent


def test_code_and_number_are_those_of_the_top_level() -> None:
    own = {"code": "11", "flag": "1", "opaque": "99", "text": 'x"},"code":12,"opaque":3,{', "tail": "\\"}

    assert RemotingDecoder().request(command(SEND, 8, extFields=own)) == Header("SEND_MESSAGE_V2", 8)
    other_order = {"extFields": own, "remark": '{"code":1,"flag":1}', "opaque": -8, "flag": 0, "code": SEND}
    assert RemotingDecoder().request(as_json(other_order)) == Header("SEND_MESSAGE_V2", -8)


def test_a_body_is_no_part_of_a_header() -> None:
    header = b'{"code":310,"flag":0'

    assert RemotingDecoder().request(framed(0, header, b',"opaque":1}')) is None


def test_spaces_between_fields_are_allowed() -> None:
    header = json.dumps({"code": 34, "extFields": {"a": "b"}, "remark": None, "opaque": 1, "flag": 0}, indent=1)

    assert RemotingDecoder().request(framed(0, header.encode())) == Header("HEART_BEAT", 1)


@pytest.mark.parametrize("whole", [command(SEND, 4711, extFields={"a": "b"}), binary(SEND, 4711)])
def test_a_head_that_is_cut_is_unknown_or_right(whole: bytes) -> None:
    requests = [RemotingDecoder().request(whole[:size]) for size in range(len(whole))]

    assert requests[8] is None
    assert {*requests} == {None, Header("SEND_MESSAGE_V2", 4711)}


def test_a_header_that_is_longer_than_the_head_is_unknown() -> None:
    whole = command(SEND, 1, extFields={"i": "\\" * 5000})

    assert RemotingDecoder().request(whole[: RemotingDecoder.head]) is None
    assert RemotingDecoder().request(whole) == Header("SEND_MESSAGE_V2", 1)


def test_a_response_with_a_long_remark_is_known() -> None:
    decoder = RemotingDecoder()
    sent = decoder.request(command(SEND, 1))
    answer = as_json({"code": 1, "flag": 1, "language": "JAVA", "opaque": 1, "remark": "java.lang.X\n" * 1000})

    assert decoder.response(answer[: RemotingDecoder.head]) == sent


def test_requests_without_a_response_are_not_kept() -> None:
    decoder = RemotingDecoder()

    assert decoder.request(command(37, 1, ONE_WAY)) == Header("END_TRANSACTION", 1)
    assert decoder.response(command(0, 1, RESPONSE)) is None


def test_the_oldest_requests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_UNANSWERED_MAX", 2)
    decoder = RemotingDecoder()
    for opaque in (1, 2, 1, 3):
        decoder.request(command(34, opaque))

    answered = [decoder.response(command(0, opaque, RESPONSE)) for opaque in (1, 2, 3)]

    assert answered == [Header("HEART_BEAT", 1), None, Header("HEART_BEAT", 3)]


@pytest.mark.parametrize(
    "message",
    [
        command(50_000, 1), binary(9, 1), framed(1, b"short"), framed(0, b"{}"), framed(0, b"[1]"),
        as_json({"code": "310", "flag": 0, "opaque": 1}), as_json({"code": {"code": 310}, "flag": 0, "opaque": 1}),
    ],
)  # fmt: skip
def test_unknown_messages_have_no_header(message: bytes) -> None:
    assert RemotingDecoder().request(message) is None
    assert RemotingDecoder().response(message) is None


@pytest.mark.parametrize(
    "begin",
    [
        b"GET / HTTP/1.1", b"PROXY TCP4", b"\x16\x03\x01\x02\x00\x01", b"\x80\0\0\0", b"\0\0\0\0", b"\0\0\0\x04",
        b"\0\0\0\x10\0\0\0\x0d", b"\0\0\0\x10\0\0\0\0", b"\0\0\0\x10\x02\0\0\x08",
    ],
)  # fmt: skip
def test_what_is_no_frame_is_told(begin: bytes) -> None:
    with pytest.raises(ValueError, match="a frame of"):
        RemotingDecoder().length(begin)


def joined(message: bytes, *, answers: bool) -> int | None:
    return RemotingDecoder().pair(Header("SEND_MESSAGE_V2", 5), message, answers=answers)


def test_answers_are_joined_with_requests_of_the_same_side() -> None:
    assert joined(command(SEND, 5), answers=False) == joined(command(0, 5, RESPONSE), answers=True) == 5
    assert joined(command(CHECK, 5, ONE_WAY), answers=True) is None
    assert joined(command(0, 5, RESPONSE), answers=False) is None


def asked() -> RemotingDecoder:
    """Return the decoder of a connection on which request 41 is open."""
    decoder = RemotingDecoder()
    decoder.request(command(SEND, 41))
    return decoder


@pytest.mark.parametrize("real", REAL_RESPONSES)
def test_an_answer_becomes_an_error(real: str) -> None:
    response = bytes.fromhex(real)
    changed = refused(asked(), response, "FLUSH_DISK_TIMEOUT")

    assert RemotingDecoder().length(changed) == len(changed)
    assert changed[8:] in {
        response[8:].replace(b'{"code":0', b'{"code":10', 1),
        b"\0\x0a" + response[10:],
    }


def test_only_the_code_of_a_header_becomes_an_error() -> None:
    response = as_json({"extFields": {"code": "0"}, "code": 0, "flag": RESPONSE, "opaque": 41}, b'{"code":0}')

    assert refused(asked(), response, "SYSTEM_BUSY") == as_json(
        {"extFields": {"code": "0"}, "code": 2, "flag": RESPONSE, "opaque": 41}, b'{"code":0}'
    )
