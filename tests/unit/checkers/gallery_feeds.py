"""One history for each anomaly of a topic that keeps nothing, and one beside it that comes close and does not."""

from __future__ import annotations

from collections.abc import Callable

from feed_story import F, Feed
from gallery_log import MS, OTHER
from story import Story

FEEDS: dict[str, Callable[[bool], Story]] = {}
"""By anomaly: makes its history; told False, the one beside it."""


def shows(name: str) -> Callable[[Callable[[bool], Story]], Callable[[bool], Story]]:
    """Hang a history in the gallery."""

    def hang(make: Callable[[bool], Story]) -> Callable[[bool], Story]:
        FEEDS[name] = make
        return make

    return hang


@shows("lost")
def lost(broken: bool) -> Story:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, 2, start=20 if broken else 5)
    story.take("c", 2, start=100)
    story.leave("c", start=200)
    return story


@shows("unseen")
def unseen(broken: bool) -> Story:
    story = Feed.of(lasting=True)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.leave("c", start=100)
    story.publish(2, start=200)
    story.join("c", start=300)
    story.take("c", *((1,) if broken else (1, 2)), start=400)
    story.leave("c", start=1000)
    return story


@shows("missed")
def missed(broken: bool) -> Story:
    story = Feed.of("at-most-once")
    story.join("c", start=0)
    story.publish(1, start=20)
    if not broken:
        story.take("c", 1, start=30)
    story.leave("c", start=3000)
    return story


@shows("late-joiner-lost")
def late_joiner_lost(broken: bool) -> Story:
    story = Feed.of(replays=2)
    story.publish(1, 2, 3, start=0)
    story.join("c", start=100)
    story.take("c", *((3,) if broken else (2, 3)), start=200)
    story.leave("c", start=3000)
    return story


@shows("stale")
def stale(broken: bool) -> Story:
    story = Feed.of(retained=True)
    story.publish(1, start=0)
    story.publish(2, start=20 if broken else 95)
    story.join("c", start=99 if not broken else 100)
    story.take("c", 1, 2, start=200)
    story.leave("c", start=3000)
    return story


@shows("duplicate")
def duplicate(broken: bool) -> Story:
    story = Feed.of("exactly-once")
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=40)
    story.take("c" if broken else "d", 1, start=60)
    return story


@shows("redelivered")
def redelivered(broken: bool) -> Story:
    story = Feed.of("at-least-once")
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=40)
    story.join("d", start=45)
    story.take("c#1" if broken else "d", 1, start=60, delivery=1)
    return story


@shows("fifo-violation")
def fifo_violation(broken: bool) -> Story:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, 2, start=20)
    story.publish(OTHER, start=40, client="q")
    story.take("c", OTHER, *((2, 1) if broken else (1, 2)), start=100)
    return story


@shows("failed-visible")
def failed_visible(broken: bool) -> Story:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=20, outcome="fail" if broken else "info")
    story.take("c", 1, start=40)
    return story


@shows("phantom")
def phantom(broken: bool) -> Story:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, *((7,) if broken else ()), start=40)
    return story


@shows("corrupt")
def corrupt(broken: bool) -> Story:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=40)
    if broken:
        story.take("c", 1, start=60, payload="corrupt")
    return story


@shows("misrouted")
def misrouted(broken: bool) -> Story:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=20, place="other/0" if broken else F)
    story.take("c", 1, start=40)
    return story


@shows("unnoticed")
def unnoticed(broken: bool) -> Story:
    story = Feed.of(liveliness_ns=1000 * MS)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=40)
    story.publish(2, start=500, client="p#1")
    story.take("c", 2, start=520)
    story.ask("c", start=600, until=4000)
    if not broken:
        story.alarm("c", "p", start=1100)
    story.leave("c", start=4000)
    return story


@shows("false-alarm")
def false_alarm(broken: bool) -> Story:
    story = Feed.of(deadline_ns=400 * MS)
    story.join("c", start=0)
    for number in range(10):
        if broken or number != 6:
            story.publish(number, start=20 + 300 * number)
            story.take("c", number, start=40 + 300 * number)
    story.alarm("c", None, start=2250)
    story.leave("c", start=5000)
    return story


@shows("not-owner")
def not_owner(broken: bool) -> Story:
    story = Feed.of(liveliness_ns=300 * MS, exclusive=True)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=40)
    story.publish(OTHER, start=100 if broken else 400, client="q")
    story.take("c", OTHER, start=120 if broken else 420)
    story.publish(2, start=500)
    story.take("c", 2, start=520)
    return story


@shows("stuck")
def stuck(broken: bool) -> Story:
    story = Feed.of()
    story.bound_ns, story.load_end_ns = 1000 * MS, 5000 * MS
    story.join("c", start=0)
    story.publish(1, start=100)
    if not broken:
        story.take("c", 1, start=200)
    story.ask("c", start=300, until=2500)
    story.take("c", *((1,) if broken else ()), start=3000)
    story.leave("c", start=3100)
    return story
