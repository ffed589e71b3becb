"""The gallery's histories of what a queue was declared with."""

from __future__ import annotations

from gallery_log import MS
from queue_story import Q, Queue, seen, shows
from story import Story, sent


@shows("unroutable-confirmed")
def unroutable_confirmed(broken: bool) -> Story:
    story = Queue.of(0, unrouted=1)
    story.op("p", "send", sent(Q, 0), outcome="ok" if broken else "fail")
    return story.end()


@shows("over-length")
def over_length(broken: bool) -> Story:
    return Queue.of(3, max_length=2 if broken else 3).end(0, 1, 2)


@shows("two-active")
def two_active(broken: bool) -> Story:
    story = Queue.of(2, single_active=1)
    story.take("a", 0, start=100)
    if broken:
        story.take("b", 1, start=200)
    story.op("p", "send", sent(Q, 2), start=300)
    story.op("p", "send", sent(Q, 3), start=310)
    story.take("a", *((2,) if broken else (1, 2, 3)), start=400)
    if broken:
        story.take("b", 3, start=410)
    story.settle("a", *((0, 2) if broken else (0, 1, 2, 3)), start=500)
    if broken:
        story.settle("b", 1, 3, start=510)
    return story.end()


@shows("no-failover")
def no_failover(broken: bool) -> Story:
    story = Queue.of(2, single_active=1)
    story.load_end_ns = 60_000 * MS
    story.op("b", "subscribe", seen("subscribed"), start=50)
    story.take("a", 0, start=100)
    story.settle("a", 0, start=110)
    story.op("a", "crash", start=200)
    if not broken:
        story.take("b", 1, start=20_000)
        story.settle("b", 1, start=20_010)
    return story.end(*((1,) if broken else ()), after=60_000)


@shows("expired-late")
def expired_late(broken: bool) -> Story:
    story = Queue.of(1, message_ttl=1000)
    story.op("c", "subscribe", start=2500 if broken else 500)
    story.take("c", 0, start=3000)
    story.settle("c", 0, start=3010)
    return story.end()


@shows("delivered-early")
def delivered_early(broken: bool) -> Story:
    story = Queue.of(1, delay=1000)
    story.take("c", 0, start=500 if broken else 1500)
    story.settle("c", 0, start=2000)
    return story.end()


@shows("priority-inversion")
def priority_inversion(broken: bool) -> Story:
    story = Queue.of(3, priorities=2, prefetch=1)
    story.op("p", "send", sent(Q, 3), seen("prioritised", value=3, position=1))
    story.op("c", "subscribe", start=100)
    first, second, third = (0, 1, 3) if broken else (0, 3, 1)
    for number, value in enumerate((first, second, third, 2)):
        story.take("c", value, start=200 + 2000 * number)
        story.settle("c", value, start=2000 + 2000 * number)
    return story.end(after=10_000)


@shows("depth-wrong")
def depth_wrong(broken: bool) -> Story:
    return Queue.of(2).end(0, 1, depth=1 if broken else 2)


@shows("delivery-limit-exceeded")
def delivery_limit_exceeded(broken: bool) -> Story:
    story = Queue.of(1, delivery_limit=1)
    for number in range(2 if broken else 1):
        story.take("c", 0, start=100 + 100 * number, delivery=number)
        story.settle("c", 0, start=150 + 100 * number, how="nack")
    return story.end(0, delivery=1)


@shows("stuck")
def stuck(broken: bool) -> Story:
    story = Queue.of(2)
    story.load_end_ns = 200_000 * MS
    story.op("c", "subscribe", seen("subscribed"), start=50)
    story.take("c", 0, start=100)
    story.settle("c", 0, start=110)
    if not broken:
        story.take("c", 1, start=60_000)
        story.settle("c", 1, start=60_010)
    for second in range(70, 190, 20):
        story.op("c", "receive", start=1000 * second)
    return story.end(*((1,) if broken else ()), after=200_000)


@shows("dropped")
def dropped(broken: bool) -> Story:
    return Queue.of(3, max_length=2 if broken else 3).end(*((1, 2) if broken else (0, 1, 2)))
