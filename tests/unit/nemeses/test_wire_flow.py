"""What taps do to the messages of one direction of a connection."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pytest

from chaoskit.contract.systems.wire import Header, SizePrefixed
from chaoskit.model.payload import build
from clusters.kafka.wire import MESSAGES, KafkaDecoder
from nemeses.wire.carried import Asked
from nemeses.wire.flow import Flow, Gate
from nemeses.wire.rules import REQUEST, RESPONSE, Matching, TapRule, TapRules


def frame(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def request(name: str, correlation: int, client: str = "c1", size: int = 40) -> bytes:
    head = struct.pack(">hhih", MESSAGES.index(name), 7, correlation, len(client)) + client.encode()
    return frame(head + bytes(size))


SESSION = [
    request("ApiVersions", 0, size=0),
    request("Produce", 1, size=1000),
    frame(struct.pack(">hhih", 4711, 0, 2, -1)),
    request("Metadata", 3, size=5),
    request("Produce", 4, size=300),
]


class Direction:
    """One direction with its rules, and what came out."""

    def __init__(
        self, of: str = REQUEST, decoder: KafkaDecoder | None = None, asked: Asked | None = None, **rule: Any
    ) -> None:
        self.rules = TapRules()
        self.gates: list[Gate] = []
        self.seen: list[str] = []
        self.flow = Flow(
            of, decoder or KafkaDecoder(), asked or Asked(), self.rules, gated=lambda _, gate: self.gates.append(gate),
            seen=self.seen.append,
        )  # fmt: skip
        if rule:
            self.rules.add("r", {"message": "Produce", "of": of, **rule})

    def fed(self, parts: Iterable[bytes]) -> bytes:
        for part in parts:
            self.flow.feed(part)
        self.flow.end()
        return b"".join(chunk for chunk in self.flow.out if isinstance(chunk, bytes))


def cuts(session: bytes, size: int) -> list[bytes]:
    return [session[at : at + size] for at in range(0, len(session), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 13, 14, 15, 269, 270, 271, 5000])
@pytest.mark.parametrize("rule", [{}, {"then": "drop", "of_client": "nobody"}, {"then": "delay", "argument": 5}])
def test_a_session_in_pieces_of_any_size_passes_unchanged(size: int, rule: dict[str, Any]) -> None:
    direction = Direction(**rule)

    assert direction.fed(cuts(b"".join(SESSION), size)) == b"".join(SESSION)
    assert direction.flow.messages == len(SESSION)
    assert direction.seen == (["ApiVersions", "Produce", "Metadata", "Produce"] if rule else [])


def test_a_session_cut_at_every_byte_is_the_same_messages() -> None:
    whole = b"".join(SESSION)
    for at in range(len(whole)):
        direction = Direction(then="drop")

        assert direction.fed([whole[:at], whole[at:]]) == SESSION[0] + SESSION[2] + SESSION[3]
        assert [hit.correlation for hit in direction.rules.active["r"].hits] == [1, 4]


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
@pytest.mark.parametrize(
    ("then", "passed", "ends"),
    [
        ("drop", [0, 2, 3, 4], ""),
        ("duplicate", [0, 1, 1, 2, 3, 4], ""),
        ("drop-and-close", [0], "orderly"),
        ("close-before", [0], "reset"),
        ("close-after", [0, 1], "orderly"),
    ],
)
def test_what_is_done_with_the_first(then: str, passed: list[int], ends: str, size: int) -> None:
    direction = Direction(then=then, which=[1])

    assert direction.fed(cuts(b"".join(SESSION), size)) == b"".join(SESSION[index] for index in passed)
    assert direction.flow.ends == ends


@pytest.mark.parametrize("size", [1, 100, 5000])
def test_a_truncated_message_is_the_last(size: int) -> None:
    direction = Direction(then="truncate")

    assert direction.fed(cuts(b"".join(SESSION), size)) == SESSION[0] + SESSION[1][: len(SESSION[1]) // 2]
    assert direction.flow.ends == "orderly"


def test_a_garbled_message_has_one_other_byte_behind_its_head() -> None:
    direction = Direction(then="garble", count=1)

    out = direction.fed([b"".join(SESSION)])

    changed = [at for at, (here, before) in enumerate(zip(out, b"".join(SESSION), strict=True)) if here != before]
    assert len(changed) == 1
    assert 270 < changed[0] - len(SESSION[0]) < len(SESSION[1])


@pytest.mark.parametrize(("then", "argument"), [("delay", 10**9), ("hold-until", "Metadata")])
def test_what_is_held_back_is_behind_a_gate(then: str, argument: Any) -> None:
    direction = Direction(then=then, argument=argument, which=[2])

    direction.fed([b"".join(SESSION)])

    assert list(direction.flow.out) == [b"".join(SESSION[:4]), direction.gates[0], SESSION[4]]


def test_a_response_is_known_by_its_request() -> None:
    decoder = KafkaDecoder()
    requests, responses = Direction(decoder=decoder), Direction(RESPONSE, decoder, then="drop")
    requests.rules.looking = True
    answers = [frame(struct.pack(">i", number) + bytes(30)) for number in range(5)]

    requests.fed(SESSION)

    assert responses.fed(cuts(b"".join(answers), 11)) == answers[0] + answers[2] + answers[3]


def test_a_response_becomes_an_error() -> None:
    decoder = KafkaDecoder()
    decoder.request(request("EndTxn", 9))
    responses = Direction(RESPONSE, decoder)
    responses.rules.add("r", {"message": "EndTxn", "of": RESPONSE, "then": "error", "argument": "PRODUCER_FENCED"})

    assert responses.fed([frame(struct.pack(">ib", 9, 0) + bytes(7))])[8:] == struct.pack(">bih", 0, 0, 90) + b"\0"


def test_a_response_that_is_not_as_expected_passes_and_does_not_count() -> None:
    decoder = KafkaDecoder()
    decoder.request(request("Produce", 9))
    responses = Direction(RESPONSE, decoder, then="error", argument="NOT_LEADER_OR_FOLLOWER")
    answer = frame(struct.pack(">iii", 9, 1, 0x00010000))

    assert responses.fed([answer]) == answer
    assert responses.rules.report("r") == {"matched": 1, "done": 0, "hits": [], "tally": {}}


def test_what_is_no_protocol_passes() -> None:
    direction = Direction(then="drop")

    assert direction.fed([SESSION[0], b"GET / HTTP/1.1\r\n" * 50, SESSION[1]])[-len(SESSION[1]) :] == SESSION[1]
    assert direction.flow.opaque


def test_a_rule_may_begin_and_end_within_a_message() -> None:
    direction = Direction()
    direction.flow.feed(SESSION[1][:300])
    direction.rules.add("r", {"message": "Produce", "of": REQUEST, "then": "drop"})
    direction.flow.feed(SESSION[1][300:] + SESSION[4][:200] + b"")
    direction.rules.end("r")

    assert direction.fed([SESSION[4][200:]]) == SESSION[1] + SESSION[4]
    assert direction.rules.report("r") == {"matched": 0, "done": 0, "hits": [], "tally": {}}


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ({"which": [3, 7]}, [3, 7]),
        ({"every": 4}, [4, 8]),
        ({"first": 4}, [4, 5, 6, 7, 8, 9, 10]),
        ({"first": 4, "count": 2}, [4, 5]),
        ({"first": 4, "every": 3}, [6, 9]),
        ({"count": 1}, [1]),
    ],
)
def test_which_of_the_matching_messages_are_chosen(keys: dict[str, Any], chosen: list[int]) -> None:
    matching = Matching("r", TapRule("Produce", REQUEST, "drop", **keys))

    assert [number for number in range(1, 11) if matching.choose(REQUEST, Header("Produce", number))] == chosen


def test_a_share_is_drawn_and_repeatable() -> None:
    drawn = [
        [matching.choose(REQUEST, Header("Produce", number)) is not None for number in range(1000)]
        for matching in (Matching("r", TapRule("Produce", REQUEST, "drop", share=0.1, seed=7)) for _ in range(2))
    ]

    assert drawn[0] == drawn[1]
    assert 60 < sum(drawn[0]) < 140


def test_only_the_message_the_direction_and_the_client_that_are_meant_match() -> None:
    matching = Matching("r", TapRule("Produce", REQUEST, "drop", of_client="app-*"))
    asked = [(REQUEST, "Fetch", "app-1"), (RESPONSE, "Produce", "app-1"), (REQUEST, "Produce", "other")]

    assert not any(matching.choose(of, Header(name, 1, client)) for of, name, client in asked)
    assert matching.choose(REQUEST, Header("Produce", 1, "app-1"))


@pytest.mark.parametrize(
    ("name", "of", "client", "chosen"),
    [
        ("Fetch", REQUEST, "app-1", True),
        ("Produce", REQUEST, "app-1", True),
        ("Fetch", RESPONSE, "app-1", False),
        ("Fetch", REQUEST, "web-1", False),
    ],
)
def test_any_message_of_a_client_is_meant_in_one_direction(name: str, of: str, client: str, chosen: bool) -> None:
    matching = Matching("r", TapRule("*", REQUEST, "drop", of_client="app-*"))

    assert (matching.choose(of, Header(name, 1, client)) is not None) is chosen


@pytest.mark.parametrize("another", [False, True], ids=["the last", "not the last"])
def test_a_rule_that_has_ended_does_nothing_with_a_message_that_was_half_there(another: bool) -> None:
    direction = Direction(then="duplicate")
    direction.flow.feed(SESSION[1][:600])
    direction.rules.end("r")
    if another:
        direction.rules.add("another", {"message": "Vote", "of": REQUEST, "then": "drop"})

    assert direction.fed([SESSION[1][600:]]) == SESSION[1]
    assert direction.rules.report("r") == {"matched": 1, "done": 0, "hits": [], "tally": {}}


def test_a_large_message_that_is_needed_whole_is_put_together_once() -> None:
    direction = Direction(then="duplicate")
    large = request("Produce", 1, size=1 << 20)

    assert direction.fed(cuts(large + SESSION[0], 1000)) == large * 2 + SESSION[0]


@pytest.mark.parametrize("then", ["drop", "delay", "close-before", "duplicate"])
def test_nothing_is_done_with_a_message_that_never_is_whole(then: str) -> None:
    direction = Direction(then=then, argument=5, count=1)

    assert direction.fed([SESSION[1][:600]]) == SESSION[1][:600]
    assert direction.rules.report("r") == {"matched": 1, "done": 0, "hits": [], "tally": {}}
    assert direction.rules.chosen(REQUEST, Header("Produce", 9)) is not None, "another one may be chosen"


def test_a_second_rule_does_nothing_with_what_the_first_has() -> None:
    direction = Direction(then="drop")
    direction.rules.add("s", {"message": "Produce", "of": REQUEST, "then": "duplicate", "count": 1})
    direction.rules.active = dict(reversed(direction.rules.active.items()))

    assert direction.fed([SESSION[1], SESSION[4]]) == SESSION[1] * 2
    assert [direction.rules.active[name].done for name in ("r", "s")] == [1, 1]


def produced(correlation: int, *values: int) -> bytes:
    records = b"".join(b"head" + build(7, value, 1, 2, b"") for value in values)
    head = struct.pack(">hhih", MESSAGES.index("Produce"), 7, correlation, 2) + b"c1"
    return frame(head + bytes(300) + records)


def test_the_messages_of_the_run_are_told_that_a_request_carries() -> None:
    direction = Direction(then="drop")

    direction.fed(cuts(produced(1, 40) + produced(2, 5, 6, 2**40 + 7) + SESSION[1], 100))

    assert [hit.carried for hit in direction.rules.active["r"].hits] == [(1, 40, 40), (3, 5, 2**40 + 7), ()]


def test_an_answer_has_what_its_request_carried() -> None:
    decoder, asked = KafkaDecoder(), Asked()
    responses = Direction(RESPONSE, decoder, asked, then="drop", which=[2, 3])
    requests = Flow(REQUEST, decoder, asked, responses.rules, gated=lambda *_: None, seen=lambda _: None)
    for number, values in enumerate([(1, 2), (3,), ()]):
        requests.feed(produced(number, *values))

    responses.fed(frame(struct.pack(">i", number) + bytes(30)) for number in range(3))

    assert [hit.carried for hit in responses.rules.active["r"].hits] == [(1, 3, 3), ()]


class Unjoined(SizePrefixed):
    """Messages whose numbers are not those of their answers."""

    head = 8

    def request(self, head: bytes) -> Header:
        return Header("Produce", 1)

    response = request


def test_an_answer_that_cannot_be_joined_has_what_it_carries_itself() -> None:
    decoder, asked, rules = Unjoined(), Asked(), TapRules()
    rules.add("r", {"message": "Produce", "of": RESPONSE, "then": "drop"})
    flows = [Flow(of, decoder, asked, rules, gated=lambda *_: None, seen=lambda _: None) for of in (REQUEST, RESPONSE)]

    for flow, values in zip(flows, [(1,), (9,)], strict=True):
        flow.feed(produced(1, *values))

    assert [hit.carried for hit in rules.active["r"].hits] == [(1, 9, 9)]
