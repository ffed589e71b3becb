"""What was received, never settled, and never comes again has vanished, even if nobody settled anything at all."""

from __future__ import annotations

from typing import Any

import pytest
from gallery_subscriptions import Shared
from queue_story import Q, Queue
from story import received

P = "t/0"
COUNT = 6


def taken(**settings: Any) -> Queue:
    """Messages that a consumer received; it settled none of them, and left."""
    story = Queue.of(COUNT, **settings)
    story.take("c", *range(COUNT), start=100)
    story.op("c", "close", start=1000)
    return story


def test_what_nobody_settled_has_vanished_from_an_empty_queue() -> None:
    story = taken()
    story.op("auditor", "receive", start=5000)

    assert [row["value"] for row in story.only("unacked-vanished")] == [*range(COUNT)]


def test_what_comes_again_has_not_vanished() -> None:
    assert taken().end(*range(COUNT), delivery=1).names() == set()


def test_from_a_queue_that_was_not_drained_nothing_has_vanished() -> None:
    story = taken()
    story.audits.clear()

    assert story.names() == set()


def test_who_polls_a_queue_settles_what_it_is_given() -> None:
    story = Queue.of(COUNT)
    story.op("c", "poll", *(received(Q, value, None) for value in range(COUNT)), start=100)

    assert story.names() == set()


def subscription(*, drained: bool, again: bool = False) -> Shared:
    """Messages that one consumer received; it acknowledged none of them, and left. The other one remains."""
    story = Shared.of("shared", COUNT)
    story.take("a", *range(COUNT), start=100)
    story.op("a", "close", start=200)
    if again:
        story.take("b", *range(COUNT), start=300, count=1)
        story.settle("b", "ack", *range(COUNT), start=310)
    if drained:
        story.op("b", "drain", start=5000, lasts=3000)
    story.op("auditor", "poll", *(received(P, value, value) for value in range(COUNT)), start=9000)
    story.op("b", "close", start=9100)
    return story


def test_what_nobody_acknowledged_has_vanished_from_a_drained_subscription() -> None:
    assert [row["value"] for row in subscription(drained=True).only("unacked-vanished")] == [*range(COUNT)]
    assert subscription(drained=True, again=True).names() == set()


@pytest.mark.parametrize("again", [False, True])
def test_of_a_subscription_that_nobody_drained_it_is_not_known(again: bool) -> None:
    story = subscription(drained=False, again=again)

    assert [(row["anomaly"], row["detail"]) for row in story.check()] == [("undrained", "no consumer drained it")]
