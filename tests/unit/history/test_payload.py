"""A message's fate is decided from the message itself."""

from __future__ import annotations

import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.model.message import PAYLOADS
from chaoskit.model.payload import CORRUPT, FOREIGN, NO_VALUE, OK, SIZE_MIN, Writer, read

TIMES = st.integers(0, 2**63 - 1)
NOTHING = (CORRUPT, NO_VALUE, NO_VALUE, NO_VALUE)


@given(run=st.integers(0, 2**64 - 1), size=st.integers(SIZE_MIN, 300), value=TIMES, intended=TIMES, sent=TIMES)
def test_a_payload_comes_back_in_its_declared_size(run: int, size: int, value: int, intended: int, sent: int) -> None:
    payload = Writer(run, size).build(value, intended, sent)

    assert len(payload) == size
    assert read(payload, run) == (OK, value, intended, sent)


@given(size=st.integers(SIZE_MIN, 200), at=st.integers(0), flip=st.integers(1, 255))
def test_any_changed_byte_makes_it_corrupt(size: int, at: int, flip: int) -> None:
    payload = bytearray(Writer(7, size).build(5, 6, 7))
    payload[at % size] ^= flip

    assert read(bytes(payload), 7) == NOTHING


@given(size=st.integers(SIZE_MIN, 200), cut=st.integers(1, 200))
def test_a_payload_that_was_cut_short_is_corrupt(size: int, cut: int) -> None:
    assert read(Writer(7, size).build(5, 6, 7)[: max(0, size - cut)], 7) == NOTHING


def test_a_payload_that_grew_is_corrupt() -> None:
    assert read(Writer(7, 100).build(5, 6, 7) + b"\0", 7) == NOTHING


@pytest.mark.parametrize("payload", [None, b"", b"\0" * 100, b"somebody else's message, long enough to be one of ours"])
def test_what_is_not_ours_is_corrupt(payload: bytes | None) -> None:
    assert read(payload, 7) == NOTHING


def test_a_whole_message_of_another_format_is_corrupt() -> None:
    head = struct.pack("<IQqqq", 0x324B4843, 7, 5, 6, 7)

    assert read(head + struct.pack("<I", google_crc32c.value(head)), 7) == NOTHING


def test_a_whole_payload_of_another_run_is_foreign() -> None:
    assert read(Writer(8, 100).build(5, 6, 7), 7) == (FOREIGN, 5, 6, 7)


def test_codes_are_indexes_into_the_names_of_the_schema() -> None:
    assert [PAYLOADS[code] for code in (OK, CORRUPT, FOREIGN)] == ["ok", "corrupt", "foreign"]
