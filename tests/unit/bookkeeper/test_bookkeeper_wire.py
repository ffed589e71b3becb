"""Messages of bookies on the wire, of version 3 and of older ones: names, correlation, lengths."""

from __future__ import annotations

import struct

import pytest
from decoders import joined, old_add, old_added, refused

from chaoskit.contract.systems.wire import Header, as_varint
from chaoskit.testing.conformance import check_decoder
from clusters.bookkeeper.options import WIRE
from clusters.bookkeeper.wire import MESSAGES, BookieDecoder

REQUESTS = {
    "0000002a0a070803100218ac02aa061e080110021a14070707070707070707070707070707070707070722026869": Header(
        "ADD_ENTRY", 300, version=3
    ),
    "0000000d0a060803100a1801da06020801": Header("FORCE_LEDGER", 1, version=3),
    "000000140202000000000000000000010000000000000002": Header("READ_ENTRY", 2, version=2),
    "00000028020200010000000000000001ffffffffffffffff0707070707070707070707070707070707070707": Header(
        "READ_ENTRY", -1, version=2
    ),
    "00000028020700000000000000000001000000000000000500000000000000630000000a00000000000003e8": Header(
        "BATCH_READ_ENTRY", 5, version=2
    ),
    "00000009020300000a01781200": Header("AUTH", 0, version=2),
}
RESPONSES = {
    "000000140a070803100218ac021000aa0606080010011802": Header("ADD_ENTRY", 300, version=3),
    "00000018020100000000000000000000000000010000000000000002": Header("ADD_ENTRY", 2, version=2),
    "0000001a0202000000000000000000000000000100000000000000026869": Header("READ_ENTRY", 2, version=2),
    "000000260207000000000000000000000000000100000000000000050000000000000063000000026869": Header(
        "BATCH_READ_ENTRY", 5, version=2
    ),
    "00000009020300000a01781200": Header("AUTH", 0, version=2),
}
"""As `BookieProtoEncoding` of BookKeeper 4.17.3 writes them."""


def frame(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def new(name: str, transaction: int, body: bytes = b"") -> bytes:
    """Return a request of version 3, or a response."""
    header = b"\x08\x03\x10" + bytes([MESSAGES.index(name) + 1]) + b"\x18" + as_varint(transaction)
    return frame(b"\x0a" + bytes([len(header)]) + header + body)


def test_the_decoder_is_whole_with_version_3() -> None:
    asked = [("ADD_ENTRY", 1), ("READ_ENTRY", 200), ("WRITE_LAC", 1 << 40), ("READ_LAC", 3), ("FORCE_LEDGER", 4)]

    check_decoder(
        WIRE,
        [new(name, number, bytes(3000)) for name, number in asked],
        [new(name, number, b"\x10\0" + bytes(100)) for name, number in asked],
    )


def test_the_decoder_is_whole_with_version_2() -> None:
    bodies = [b"", bytes(40), bytes(3000)]

    check_decoder(
        WIRE, [old_add(entry, body=body) for entry, body in enumerate(bodies)], [old_added(entry) for entry in range(3)]
    )


@pytest.mark.parametrize(("message", "header"), REQUESTS.items())
def test_requests_of_a_real_client_have_their_headers(message: str, header: Header) -> None:
    assert BookieDecoder().request(bytes.fromhex(message)) == header
    assert BookieDecoder().length(bytes.fromhex(message)) == len(message) // 2


@pytest.mark.parametrize(("message", "header"), RESPONSES.items())
def test_responses_of_a_real_bookie_have_their_headers(message: str, header: Header) -> None:
    assert BookieDecoder().response(bytes.fromhex(message)) == header
    assert BookieDecoder().length(bytes.fromhex(message)) == len(message) // 2


@pytest.mark.parametrize(
    ("number", "name"),
    [(1, "READ_ENTRY"), (2, "ADD_ENTRY"), (5, "AUTH"), (6, "WRITE_LAC"), (7, "READ_LAC"), (8, "GET_BOOKIE_INFO"),
     (9, "START_TLS"), (10, "FORCE_LEDGER"), (12, "BATCH_READ_ENTRY")],
)  # fmt: skip
def test_operations_of_version_3_have_the_names_of_the_protocol(number: int, name: str) -> None:
    assert MESSAGES[number - 1] == name


@pytest.mark.parametrize(
    ("number", "name"),
    [(1, "ADD_ENTRY"), (2, "READ_ENTRY"), (3, "AUTH"), (4, "READ_LAC"), (5, "WRITE_LAC"), (6, "GET_BOOKIE_INFO"),
     (7, "BATCH_READ_ENTRY")],
)  # fmt: skip
def test_operations_of_version_2_have_the_same_names(number: int, name: str) -> None:
    header = BookieDecoder().request(frame(bytes([2, number, 0, 0]) + bytes(60)))

    assert header == Header(name, 0, version=2)


def test_the_same_number_is_another_operation_in_version_3() -> None:
    decoder = BookieDecoder()

    assert decoder.request(old_add(9)) == Header("ADD_ENTRY", 9, version=2)
    assert decoder.request(new("READ_ENTRY", 9)) == Header("READ_ENTRY", 9, version=3)
    assert decoder.request(frame(b"\x02\x0a\0\0" + bytes(16))) is None


def test_version_0_has_its_operation_in_the_last_byte() -> None:
    assert BookieDecoder().request(frame(b"\0\0\0\x02" + struct.pack(">qq", 1, 5))) == Header("READ_ENTRY", 5)


def test_an_entry_is_elsewhere_in_a_response() -> None:
    assert BookieDecoder().request(old_add(11)) == BookieDecoder().response(old_added(11))
    assert BookieDecoder().response(old_add(11)) != BookieDecoder().request(old_add(11))


def test_responses_in_another_order_are_known() -> None:
    decoder = BookieDecoder()
    for number in range(3):
        decoder.request(new("ADD_ENTRY", number))

    answered = [decoder.response(new("ADD_ENTRY", number, b"\x10\0")) for number in (2, 0, 1)]

    assert [header.correlation for header in answered if header] == [2, 0, 1]


@pytest.mark.parametrize("whole", [new("ADD_ENTRY", 300), old_add(300)])
def test_a_head_that_is_cut_is_unknown_or_lacks_the_correlation(whole: bytes) -> None:
    decoder = BookieDecoder()
    full = decoder.request(whole)
    assert full is not None

    cut = [decoder.request(whole[:size]) for size in range(len(whole))]

    assert cut[:8] == [None] * 8
    assert {*cut} <= {None, full, full._replace(correlation=0)}


@pytest.mark.parametrize("content", [b"\x03\x01\0\0", b"\x02\0\0\0", b"\x02\x08\0\0", b"\x0a\x02\x08\x03", b"\0\0\0\0"])
def test_unknown_messages_have_no_header(content: bytes) -> None:
    assert BookieDecoder().request(frame(content + bytes(60))) is None
    assert BookieDecoder().response(frame(content + bytes(60))) is None


def test_an_unknown_operation_of_version_3_has_no_header() -> None:
    assert BookieDecoder().request(frame(b"\x0a\x06\x08\x03\x10\x0d\x18\x01")) is None


@pytest.mark.parametrize(
    "begin", [b"GET / HTTP/1.1", b"\x16\x03\x01\x02\x00\x01", b"\x80\0\0\0", b"\0\0\0\0", b"\0\0\0\x03", b"ruok"]
)
def test_what_is_no_frame_is_told(begin: bytes) -> None:
    with pytest.raises(ValueError, match="a frame of"):
        BookieDecoder().length(begin)


def test_answers_are_joined_with_their_requests() -> None:
    new_add = new("ADD_ENTRY", 300)
    assert joined(BookieDecoder(), new_add, answers=False) == joined(BookieDecoder(), new_add, answers=True) == 300
    assert joined(BookieDecoder(), old_add(5), answers=False) == joined(BookieDecoder(), old_added(5), answers=True)


def test_an_entry_of_another_ledger_is_another_one() -> None:
    other = old_add(5).replace(struct.pack(">qq", 7, 5), struct.pack(">qq", 8, 5))
    assert joined(BookieDecoder(), other, answers=False) != joined(BookieDecoder(), old_added(5), answers=True)


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("000000140a070803100218ac021000aa0606080010011802", "000000150a070803100218ac0210f503aa0606080010011802"),
        ("00000018020100000000000000000000000000010000000000000002",
         "00000018020100000000006500000000000000010000000000000002"),
    ],
)  # fmt: skip
def test_an_answer_becomes_an_error(message: str, changed: str) -> None:
    assert refused(BookieDecoder(), bytes.fromhex(message), "EIO").hex() == changed


def test_an_answer_without_a_status_becomes_none() -> None:
    with pytest.raises(ValueError, match="without a status"):
        refused(BookieDecoder(), new("ADD_ENTRY", 300, b"\xaa\x06\0"), "EIO")
