"""What subscribers of a topic that keeps nothing are told of publishers, and whose messages they take: near misses."""

from __future__ import annotations

from typing import Any

from feed_story import Feed
from gallery_log import MS, OTHER


def _streaming(alarm: str | None, *, pause: int = -1, asks: bool = True, **promised: Any) -> Feed:
    """Return a story of twelve messages, one every 200 ms, without one of them; after that one the subscriber is told
    something."""
    story = Feed.of(**promised)
    story.join("c", start=0)
    for number in range(12):
        if number != pause:
            story.publish(number, start=100 + 200 * number)
            story.take("c", number, start=110 + 200 * number)
        if asks:
            story.op("c", "receive", start=210 + 200 * number)
    story.alarm("c", alarm, start=1950)
    story.leave("c", start=9000)
    return story


def test_a_publisher_that_went_on_was_alive() -> None:
    story = _streaming("p", liveliness_ns=300 * MS)

    assert [(row["value"], row["detail"]) for row in story.only("false-alarm")] == [
        (10, "the publisher went on publishing")
    ]


def test_a_publisher_that_said_nothing_for_the_lease_may_have_counted_as_not_alive() -> None:
    assert _streaming("p", pause=8, liveliness_ns=300 * MS).names() == set()
    assert _streaming("p", liveliness_ns=2000 * MS).names() == set()
    assert _streaming("q", liveliness_ns=300 * MS).names() == set()


def test_a_subscriber_that_stood_still_may_have_missed_its_signs_of_life() -> None:
    assert _streaming("p", asks=False, liveliness_ns=300 * MS).names() == set()
    assert _streaming("p", asks=False, liveliness_ns=500 * MS).names() == {"false-alarm"}


def test_without_a_promise_no_alarm_is_judged() -> None:
    assert _streaming("p").names() == set()
    assert _streaming(None, liveliness_ns=300 * MS).names() == set()


def test_messages_in_time_missed_no_deadline() -> None:
    assert _streaming(None, deadline_ns=300 * MS).names() == {"false-alarm"}
    assert _streaming(None, deadline_ns=210 * MS).names() == set()
    assert _streaming(None, pause=8, deadline_ns=300 * MS).names() == set()


def _paused(*, alarm_at: int | None, asked: int = 500, publisher: str = "p") -> Feed:
    story = Feed.of("at-most-once", deadline_ns=300 * MS)
    story.join("c", start=0)
    story.publish(1, start=100)
    story.take("c", 1, start=110)
    for at in range(200, 3000, asked):
        story.op("c", "receive", start=at)
    if alarm_at is not None:
        story.alarm("c", None, start=alarm_at)
    story.publish(2, start=3000, client=publisher)
    story.take("c", 2, start=3010)
    story.leave("c", start=6000)
    return story


def test_a_time_without_messages_must_be_told_while_a_publisher_is_there() -> None:
    assert [(row["value"], row["detail"]) for row in _paused(alarm_at=None).only("unnoticed")] == [
        (1, "no message came within the deadline")
    ]
    assert _paused(alarm_at=1200).names() == set()
    assert _paused(alarm_at=1600).names() == {"unnoticed"}
    assert _paused(alarm_at=None, asked=1400).names() == set()
    assert _paused(alarm_at=None, publisher="q").names() == set()


def _usurped(*, at: int, goes_on: bool = True) -> Feed:
    story = Feed.of("at-most-once", liveliness_ns=300 * MS, exclusive=True)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=40)
    story.publish(OTHER, start=at, client="q")
    story.take("c", OTHER, start=at + 10)
    story.publish(2, start=500, client="p" if goes_on else "p#1")
    story.take("c", 2, start=520)
    return story


def test_another_publisher_takes_over_when_the_owner_may_count_as_not_alive() -> None:
    assert _usurped(at=100).names() == {"not-owner"}
    assert _usurped(at=300).names() == {"not-owner"}
    assert _usurped(at=320).names() == set()
    assert _usurped(at=30).names() == set()
    assert _usurped(at=100, goes_on=False).names() == set()


def test_of_an_exclusive_subscription_only_the_owner_owes_messages() -> None:
    story = Feed.of(liveliness_ns=300 * MS, exclusive=True)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.publish(OTHER, start=40, client="q")
    story.leave("c", start=9000)

    assert [row["value"] for row in story.only("lost")] == [1]


def test_an_owner_that_is_started_again_is_the_owner() -> None:
    story = Feed.of(liveliness_ns=300 * MS, exclusive=True)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.publish(2 * OTHER, start=40, client="p#1")
    story.leave("c", start=9000)

    assert [row["value"] for row in story.only("lost")] == [1, 2 * OTHER]
