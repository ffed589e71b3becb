"""The suite for decoders finds what is wrong with one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaoskit.contract.systems.wire import Header, Wire
from chaoskit.testing.conformance import check_decoder

SESSION = ([b"\x01a", b"\x02bc"], [b"\x01A", b"\x02BC"])


class Lines:
    """Messages of a length byte and so many more; the first of them is the name."""

    head = 2

    def __init__(self) -> None:
        self._asked: list[Header] = []

    def length(self, begin: bytes) -> int | None:
        return begin[0] + 1 if begin else None

    def request(self, head: bytes) -> Header:
        self._asked.append(Header(chr(head[1]), len(self._asked)))
        return self._asked[-1]

    def response(self, head: bytes) -> Header | None:
        return self._asked.pop(0)


class Guessing(Lines):
    """Takes what is there for the whole, and the last request for the one that is answered."""

    def length(self, begin: bytes) -> int | None:
        return len(begin)

    def response(self, head: bytes) -> Header | None:
        return self._asked.pop()


WIRE = Wire({7: f"{__name__}:Guessing"}, ("a", "c"), refusable={"b": ("e",)})


def test_everything_that_is_wrong_is_told() -> None:
    with pytest.raises(AssertionError) as raised:
        check_decoder(WIRE, *SESSION)

    for words in (
        "it refuses nothing, but `refusable` has names",
        "`refusable` has names that no response has",
        "a tap cannot load what its module imports: chaoskit.testing.conformance, pytest",
        "the length of a message depends on how many of its bytes are there",
        "requests have names that are not in `messages`: b",
        "responses do not have the headers of their requests",
    ):
        assert words in str(raised.value)


def test_what_is_right_is_not_told() -> None:
    with pytest.raises(AssertionError) as raised:
        check_decoder(replace(WIRE, decoders={7: f"{__name__}:Lines"}, messages=("a", "b"), refusable={}), *SESSION)

    assert str(raised.value).count("\n") == 1, "only that its module imports what tests need"


class Answering(Lines):
    """Its answers have names of their own."""

    def response(self, head: bytes) -> Header | None:
        return Header(chr(head[1]), 0)


def test_answers_with_names_of_their_own_need_not_have_those_of_requests() -> None:
    own = replace(WIRE, decoders={7: f"{__name__}:Answering"}, messages=("a", "b"), answers=("A",), refusable={})

    with pytest.raises(AssertionError) as raised:
        check_decoder(own, *SESSION)

    assert "responses have names that are not in `answers`: B" in str(raised.value)
    assert str(raised.value).count("\n") == 2, "and that its module imports what tests need"


class Kind(Lines):
    """Puts no error where one is asked for, makes half a message, or cannot."""

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        if error == "impossible":
            raise ValueError("not as expected")
        return response if error == "none" else response[:1]


def test_a_response_that_is_no_error_then_or_not_whole_is_told() -> None:
    errors = ("none", "half", "impossible")
    kind = Wire({7: f"{__name__}:Kind"}, ("a", "b"), refusable={"a": errors})

    with pytest.raises(AssertionError) as raised:
        check_decoder(kind, *SESSION)

    for words in (
        "a stays as it is with the error none",
        "a with the error half is not whole",
        "a with the error impossible: ValueError: not as expected",
    ):
        assert words in str(raised.value)
    assert str(raised.value).count("\n") == 4, "and that its module imports what tests need"
