"""Subscribers that are given nothing for too long, and subscriptions that go on after their end: near misses."""

from __future__ import annotations

from typing import Any

import pytest
from feed_story import Feed
from gallery_log import MS

from chaoskit.contract.checkers.checker import FaultWindow


def silent(promise: str = "at-least-once", **more: Any) -> Feed:
    """A subscriber that asks for 2.5 s and is given nothing, though a message was sent after 100 ms; then it is."""
    story = Feed.of(promise, **more)
    story.bound_ns, story.load_end_ns = 1000 * MS, 5000 * MS
    story.join("c", start=0)
    story.publish(1, start=100)
    story.ask("c", start=200, until=2700)
    return story


@pytest.mark.parametrize("promise", ["at-most-once", "at-least-once", "exactly-once"])
def test_a_subscriber_that_gets_everything_too_late_is_stuck(promise: str) -> None:
    story = silent(promise)
    story.take("c", 1, start=3000)

    assert story.check() == [
        {"anomaly": "stuck", "topic": "feed", "partition": 0, "value": 1, "op": 0, "other_op": 1, "at_ns": 1200 * MS}
    ]


def test_what_never_comes_is_lost_and_nobody_is_stuck() -> None:
    story = silent()
    story.publish(2, start=2000)
    story.take("c", 2, start=3000)

    assert story.names() == {"lost"}


REASONS = ("nothing was sent", "it was not subscribed", "a fault held", "it is another subscriber's")


@pytest.mark.parametrize("why", REASONS)
def test_who_is_not_stuck(why: str) -> None:
    story = silent(share="g") if why == REASONS[3] else silent()
    sends = [row for row in story.operations if row["f"] == "send"]
    if why == REASONS[0]:
        sends[0].update(start_ns=2500 * MS, end_ns=2505 * MS)
    elif why == REASONS[1]:
        story.leave("c", start=300)
        story.join("c", start=2400)
    elif why == REASONS[2]:
        story.faults = (FaultWindow(0, "kill", 100 * MS, 110 * MS, 1900 * MS),)
    if why == REASONS[3]:
        story.join("d", start=0)
    story.take("d" if why == REASONS[3] else "c", 1, start=3000)

    assert story.only("stuck") == []


def over(*, sent: int = 600, received: int = 700, again: int | None = None, lost: bool = False) -> Feed:
    """A subscription that ended after 500 ms, which was confirmed at 510 ms; and a message, times in ms."""
    story = Feed.of()
    story.join("c", start=0)
    story.leave("c", start=500)
    if lost:
        story.op("c", "receive", start=495, outcome="fail")
    story.publish(1, start=sent)
    if again is not None:
        story.join("c", start=again)
    story.take("c", 1, start=received)
    return story


def test_who_has_unsubscribed_is_given_nothing_more() -> None:
    story = over()

    assert story.check() == [
        {"anomaly": "misrouted", "topic": "feed", "partition": 0, "value": 1, "op": 3, "other_op": 2}
        | {"at_ns": 705 * MS, "detail": "delivered after a confirmed unsubscribe"}
    ]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"sent": 505}, id="it was under way"),
        pytest.param({"again": 650}, id="it has subscribed again"),
        pytest.param({"again": 690}, id="it has asked for that"),
        pytest.param({"lost": True}, id="its connection was lost"),
    ],
)
def test_what_may_come_after_the_end_of_a_subscription(more: dict[str, Any]) -> None:
    assert over(**more).only("misrouted") == []
