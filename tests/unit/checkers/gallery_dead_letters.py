"""The gallery's histories of dead letters."""

from __future__ import annotations

from queue_story import Queue, shows
from story import Story


@shows("dead-letter-missing")
def dead_letter_missing(broken: bool) -> Story:
    story = Queue.of(2, dead_letters=1)
    story.take("c", 0, 1, start=100)
    story.settle("c", 1, start=110)
    story.settle("c", 0, start=120, how="reject")
    if not broken:
        story.dead(0, "rejected", start=200)
    return story.end()


@shows("dead-letter-early")
def dead_letter_early(broken: bool) -> Story:
    story = Queue.of(2, dead_letters=1)
    story.take("c", 0, 1, start=100)
    story.settle("c", *((1,) if broken else (0, 1)), start=110, how="reject")
    for value in (0, 1):
        story.dead(value, "rejected", start=200 + 50 * value)
    return story.end()


@shows("dead-letter-mislabelled")
def dead_letter_mislabelled(broken: bool) -> Story:
    story = Queue.of(1, dead_letters=1) if broken else Queue.of(1, dead_letters=1, message_ttl=300)
    story.dead(0, "expired", start=500)
    return story.end()


@shows("dead-letter-twice")
def dead_letter_twice(broken: bool) -> Story:
    story = Queue.of(1, dead_letters=1, message_ttl=300)
    story.dead(0, "expired", start=500, ack=False)
    story.dead(0, "expired", start=600, delivery=0 if broken else 1)
    return story.end()


@shows("expired-early")
def expired_early(broken: bool) -> Story:
    story = Queue.of(1, dead_letters=1, message_ttl=1000)
    story.dead(0, "expired", start=500 if broken else 1500)
    return story.end()
