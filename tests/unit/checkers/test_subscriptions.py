"""Each anomaly of subscriptions fires, with its evidence, and does not fire when nearly so."""

from __future__ import annotations

import random

import pytest
from gallery_log import MS, P
from gallery_subscriptions import Shared

from chaoskit.model.audit import Bounds

NAMES = {"unacked-vanished", "double-delivery", "two-active", "fifo-violation", "redelivery-flag-missing"}


def _found(story: Shared) -> dict[str, list[int]]:
    values: dict[str, list[int]] = {}
    for row in story.check():
        if row["anomaly"] in NAMES:
            values.setdefault(row["anomaly"], []).append(row["position"])
    return values


def _calm(kind: str, key: str | None = None) -> Shared:
    """Two messages for one consumer and two for the other, each acknowledged."""
    story = Shared.of(kind, 4, key)
    for index, client in enumerate("aabb"):
        story.take(client, index, start=100 + 100 * index, key=key)
        story.settle(client, "ack", index, start=150 + 100 * index)
    return story


@pytest.mark.parametrize("kind", ["exclusive", "failover", "shared", "key-shared"])
def test_a_calm_subscription_has_no_findings(kind: str) -> None:
    assert _calm(kind, "k").end(4).check() == []


@pytest.mark.parametrize("kind", ["shared", "key-shared"])
def test_readers_of_a_subscription_do_not_read_in_order(kind: str) -> None:
    story = Shared.of(kind, 4)
    for client, position in (("a", 0), ("b", 1), ("a", 3), ("b", 2)):
        start = 100 + 10 * position + (100 if position == 2 else 0)
        story.take(client, position, start=start)
        story.settle(client, "ack", position, start=start + 6)

    assert story.end(4).check() == []


def test_never_delivered() -> None:
    story = _calm("shared")
    story.op("p", "send", {"direction": "sent", "topic": "t", "partition": 0, "value": 4, "position": 4}, start=600)
    story.audits[P] = Bounds(0, 5, complete=True)
    story.end(5)

    findings = story.only("unacked-vanished")
    assert [(row["value"], row["position"], row["detail"]) for row in findings] == [(4, 4, "never delivered")]
    assert "other_op" not in findings[0]


def test_delivered_and_then_forgotten() -> None:
    story = Shared.of("shared", 1)
    delivery = story.take("a", 0, start=100)
    story.op("a", "crash", start=200)
    story.end(1)

    detail = "delivered, not acknowledged, and not delivered again"
    assert story.only("unacked-vanished") == [
        {"anomaly": "unacked-vanished", "topic": "t", "partition": 0, "value": 0, "position": 0}
        | {"op": 0, "other_op": delivery, "at_ns": 105 * MS, "detail": detail}
    ]


@pytest.mark.parametrize("missing", ["drain", "whole drain", "audit", "acknowledgement of the send", "send in time"])
def test_what_may_still_come_has_not_vanished(missing: str) -> None:
    story = Shared.of("shared", 1)
    story.end(1)
    for row in story.operations:
        if row["f"] == "drain" and missing == "drain":
            row["f"] = "close"
        if row["f"] == "drain" and row["client"] == "b" and missing == "whole drain":
            row["outcome"] = "info"
        if row["f"] == "send" and missing == "acknowledgement of the send":
            row["outcome"] = "info"
        if row["f"] == "send" and missing == "send in time":
            row["end_ns"] = 6000 * MS
    if missing == "audit":
        story.messages = [row for row in story.messages if row["direction"] != "received"]

    assert "unacked-vanished" not in _found(story)


@pytest.mark.parametrize("outcome", ["info", "fail"])
@pytest.mark.parametrize("held", [True, False])
def test_a_refused_acknowledgement_acknowledges_nothing(outcome: str, *, held: bool) -> None:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    story.settle("a", "ack", 0, start=150)
    next(row for row in story.operations if row["f"] == "ack")["outcome"] = outcome
    if not held:
        story.op("a", "crash", start=200)
    story.end(1)

    vanished = outcome == "fail" and not held
    assert [row["position"] for row in story.only("unacked-vanished")] == ([0] if vanished else [])


def _acked(again_ms: int, crash_ms: int = 4000) -> Shared:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    story.settle("a", "ack", 0, start=150)
    story.op("a", "crash", start=crash_ms)
    story.take("b", 0, start=again_ms, count=1)
    story.settle("b", "ack", 0, start=again_ms + 50)
    return story.end(1)


def test_delivered_again_after_its_acknowledgement() -> None:
    story = _acked(1200)

    assert _found(story) == {"double-delivery": [0]}
    (finding,) = story.only("double-delivery")
    assert finding["detail"] == "after its acknowledgement"
    assert story.operations[finding["other_op"]]["f"] == "ack"


@pytest.mark.parametrize(("again_ms", "crash_ms"), [(1100, 4000), (4200, 1000)], ids=["too soon", "crashed with it"])
def test_an_acknowledgement_that_may_not_have_arrived(again_ms: int, crash_ms: int) -> None:
    assert _found(_acked(again_ms, crash_ms)) == {}


def test_an_acknowledgement_that_the_client_refused_does_not_count() -> None:
    story = _acked(1200)
    next(row for row in story.operations if row["f"] == "ack")["outcome"] = "fail"

    assert _found(story) == {}


@pytest.mark.parametrize("released", ["ack", "nack", "crash", "subscribe", "close"])
def test_delivered_to_another_once_it_was_given_up(released: str) -> None:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    if released in ("ack", "nack"):
        story.settle("a", released, 0, start=150)
    else:
        story.op("a", released, start=150)
    story.take("b", 0, start=150, count=1)
    story.settle("b", "ack", 0, start=300)

    assert _found(story.end(1)) == {}


def test_a_consumer_that_was_killed_has_nothing_after_its_last_operation() -> None:
    story = Shared.of("shared", 1)
    story.take("c", 0, start=100)
    story.operations[-1]["client"] = "c"
    story.take("b", 0, start=200, count=1)
    story.settle("b", "ack", 0, start=300)

    assert _found(story.end(1)) == {}


@pytest.mark.parametrize(("kind", "key", "other_key", "fires"), [
    ("exclusive", None, None, True),
    ("key-shared", "k", "k", True),
    ("key-shared", "k", "l", False),
    ("key-shared", None, None, False),
    ("failover", "k", "k", False),
    ("shared", "k", "k", False),
])  # fmt: skip
def test_two_consumers_at_once(kind: str, key: str | None, other_key: str | None, fires: bool) -> None:
    story = Shared.of(kind, 2)
    first = story.take("a", 0, start=100, key=key)
    second = story.take("b", 1, start=200, key=other_key)
    for client, position in (("a", 0), ("b", 1)):
        story.settle(client, "ack", position, start=300)
    story.end(2)

    findings = story.only("two-active")
    assert [(row["op"], row["other_op"], row["position"], row["other_position"]) for row in findings] == (
        [(second, first, 1, 0)] if fires else []
    )


def test_a_third_consumer_between_two_of_the_same_does_not_hide_them() -> None:
    story = Shared.of("exclusive", 3)
    for index, client in enumerate("aba"):
        story.take(client, index, start=100 + 10 * index)
    story.end(3)

    assert _found(story)["two-active"] != []


@pytest.mark.parametrize(("kind", "keys", "fires"), [
    ("failover", "kk", True), ("exclusive", "kl", True), ("key-shared", "kk", True), ("key-shared", "kl", False),
    ("shared", "kk", False),
])  # fmt: skip
def test_first_deliveries_out_of_order(kind: str, keys: str, fires: bool) -> None:
    story = Shared.of(kind, 2)
    story.take("a", 1, start=100, key=keys[1])
    story.take("a", 0, start=200, key=keys[0])
    story.settle("a", "ack", 0, 1, start=300)

    assert _found(story.end(2)) == ({"fifo-violation": [0]} if fires else {})


def test_what_is_delivered_again_may_come_later() -> None:
    story = Shared.of("failover", 2)
    story.take("a", 0, 1, start=100)
    story.settle("a", "ack", 1, start=150)
    story.settle("a", "nack", 0, start=150)
    story.take("a", 0, start=200)
    story.settle("a", "ack", 0, start=300)

    assert _found(story.end(2)) == {}


def test_counts_are_forgotten_when_consumers_come_and_go() -> None:
    story = Shared.of("shared", 1)
    story.take("a", 0, start=100)
    story.settle("a", "nack", 0, start=150)
    story.op("a", "crash", start=170)
    story.take("b", 0, start=200, count=0)
    story.settle("b", "ack", 0, start=300)

    assert _found(story.end(1)) == {}


@pytest.mark.parametrize(("kind", "nacked", "count", "fires"), [
    ("shared", True, 0, True), ("key-shared", True, 0, True), ("shared", True, 1, False), ("shared", False, 0, False),
    ("failover", True, 0, False),
])  # fmt: skip
def test_a_redelivery_that_says_it_is_the_first(kind: str, nacked: bool, count: int, fires: bool) -> None:
    story = Shared.of(kind, 1)
    story.take("a", 0, start=100)
    if nacked:
        story.settle("a", "nack", 0, start=150)
    else:
        story.op("a", "crash", start=150)
    story.take("b", 0, start=200, count=count)
    story.settle("b", "ack", 0, start=300)

    assert _found(story.end(1)) == ({"redelivery-flag-missing": [0]} if fires else {})


@pytest.mark.parametrize("seed", range(20))
def test_overlaps_are_found_where_plain_comparison_finds_some(seed: int) -> None:
    """The vectorised search tells of at least one delivery of each overlap, and of none without."""
    source = random.Random(seed)
    story = Shared.of("exclusive", 6)
    held = []
    for position in range(6):
        client, start = source.choice("ab"), 100 + 10 * position
        until = start + source.choice([6, 9, 25, 40])
        story.take(client, position, start=start)
        held.append((client, position, start + 5, until))
    for client, position, _, until in held:
        story.settle(client, "ack", position, start=until)
    clashes = {
        late[1]
        for early in held
        for late in held
        if early[0] != late[0] and early[2] <= late[2] < early[3] and early != late
    }
    overlaps = set(_found(story.end(6)).get("two-active", []))

    assert overlaps <= clashes
    assert bool(overlaps) == bool(clashes)
