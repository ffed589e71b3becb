"""The gallery's histories of queues: the same anomalies as in logs, where there are no positions."""

from __future__ import annotations

from gallery_log import OTHER
from queue_story import Q, Queue, shows
from story import Story, received, sent

from chaoskit.model.audit import Drained

R = "other/0"


@shows("lost")
def lost(broken: bool) -> Story:
    return Queue.of(2).end(*((0,) if broken else (0, 1)))


@shows("unseen")
def unseen(broken: bool) -> Story:
    return Queue.of(2, complete=False).end(*((0,) if broken else (0, 1)))


@shows("unacked-vanished")
def unacked_vanished(broken: bool) -> Story:
    story = Queue.of(2)
    story.take("c", 0, 1, start=100)
    story.settle("c", 1, start=110)
    return story.end(*(() if broken else (0,)), delivery=1)


@shows("duplicate")
def duplicate(broken: bool) -> Story:
    story = Queue.of(1)
    story.take("c", 0, start=100)
    if broken:
        story.settle("c", 0, start=110)
    return story.end(0, delivery=1)


@shows("redelivery-flag-missing")
def redelivery_flag_missing(broken: bool) -> Story:
    story = Queue.of(1)
    story.take("c", 0, start=100)
    return story.end(0, delivery=0 if broken else 1)


@shows("fifo-violation")
def fifo_violation(broken: bool) -> Story:
    story = Queue.of(2)
    story.take("c", *((1, 0) if broken else (0, 1)), start=100)
    story.settle("c", 0, 1, start=110)
    return story.end()


@shows("failed-visible")
def failed_visible(broken: bool) -> Story:
    story = Queue.of(0)
    story.op("p", "send", sent(Q, 0), outcome="fail" if broken else "info")
    return story.end(0)


@shows("phantom")
def phantom(broken: bool) -> Story:
    return Queue.of(1).end(0, *((OTHER,) if broken else ()))


@shows("corrupt")
def corrupt(broken: bool) -> Story:
    story = Queue.of(1)
    story.take("c", 0, start=100, payload="corrupt" if broken else "ok")
    story.settle("c", 0, start=110)
    return story.end(*((0,) if broken else ()), delivery=1)


@shows("misrouted")
def misrouted(broken: bool) -> Story:
    story = Queue.of(1)
    story.audits[R] = Drained(complete=True)
    story.op("o", "send", sent(R, OTHER))
    place = Q if broken else R
    story.op("auditor", "receive", received(place, OTHER, None, delivery=0), start=4000)
    story.settle("auditor", OTHER, start=4100, place=place)
    return story.end(0)
