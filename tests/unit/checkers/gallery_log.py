"""One history for each anomaly that shows it, and one beside it that comes close and does not: logs and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from story import Story, assigned, committed, counted, received, sent, subscribed

from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.model.audit import Bounds
from chaoskit.model.compaction import Compaction

P, Q = "t/0", "t/1"
MS, SECOND = 1_000_000, 1_000_000_000
DAY = 86_400 * SECOND
OTHER, THIRD = 1 << 40, 2 << 40
"""First values of two more producers."""

GALLERY: dict[str, Callable[[bool], Story]] = {}
"""By anomaly: makes its history; told False, the one beside it."""


def shows(name: str) -> Callable[[Callable[[bool], Story]], Callable[[bool], Story]]:
    """Hang a history in the gallery."""

    def hang(make: Callable[[bool], Story]) -> Callable[[bool], Story]:
        GALLERY[name] = make
        return make

    return hang


def blank() -> Story:
    """An empty history, in ms."""
    return Story(unit_ns=MS, bound_ns=100 * MS)


def log(count: int, *, complete: bool | None = None) -> Story:
    """Messages 0 to count - 1 of one producer, each at its own position."""
    story = blank()
    story.audits = {} if complete is None else {P: Bounds(0, count, complete)}
    for value in range(count):
        story.op("p", "send", sent(P, value, value))
    return story


def reads(story: Story, client: str, *values: int, **more: Any) -> int:
    """Poll these messages, each at the position of its number."""
    return story.op(client, "poll", *(received(P, value, value) for value in values), **more)


@shows("lost")
def lost(broken: bool) -> Story:
    story = log(2, complete=True)
    reads(story, "auditor", *((0,) if broken else (0, 1)))
    return story


@shows("unseen")
def unseen(broken: bool) -> Story:
    story = log(2, complete=False)
    reads(story, "auditor", *((0,) if broken else (0, 1)))
    return story


@shows("expired")
def expired(broken: bool) -> Story:
    story = log(2, complete=True)
    story.audits = {P: Bounds(1 if broken else 0, 2, complete=True)}
    reads(story, "auditor", *((1,) if broken else (0, 1)))
    return story


def compacted_log(*keys: str, deleted: int | None = None) -> Story:
    """Messages of these keys, of which one deletes its key; the log is compacted, and was read to its end."""
    story = blank()
    story.compaction = Compaction(retention_ns=DAY)
    story.audits = {P: Bounds(0, len(keys), complete=True)}
    for value, key in enumerate(keys):
        story.op("p", "delete" if value == deleted else "send", sent(P, value, value, key=key))
    return story


@shows("resurrected")
def resurrected(broken: bool) -> Story:
    story = compacted_log("a", "b", "a", deleted=2)
    reads(story, "auditor", *((0, 1) if broken else (1, 2)))
    return story


@shows("tiered")
def tiered(broken: bool) -> Story:
    story = log(2)
    story.audits = {P: Bounds(0, 2, complete=True, reached=2, local=1 if broken else 0)}
    reads(story, "auditor", 0, 1)
    return story


@shows("compacted")
def compacted(broken: bool) -> Story:
    story = compacted_log("a", "b", "a")
    reads(story, "auditor", *((1, 2) if broken else (0, 1, 2)))
    return story


@shows("late")
def late(broken: bool) -> Story:
    story = log(3)
    if not broken:
        reads(story, "d", 1)
    reads(story, "c", 0, 2)
    reads(story, "e", 1)
    return story


@shows("dropped-as-duplicate")
def dropped(broken: bool) -> Story:
    story = log(1, complete=True)
    story.op("p", "send", sent(P, 1), error="duplicate" if broken else None)
    reads(story, "auditor", 0)
    return story


@shows("failed-visible")
def failed_visible(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0), outcome="fail" if broken else "info")
    reads(story, "c", 0)
    return story


@shows("truncated")
def truncated(broken: bool) -> Story:
    story = log(2)
    story.audits[P] = Bounds(0, 1 if broken else 2, complete=True)
    reads(story, "c", 0, 1)
    reads(story, "auditor", *((0,) if broken else (0, 1)))
    return story


@shows("duplicate")
def duplicate(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(P, 0, 0), received(P, 0, 1 if broken else 0))
    return story


@shows("redelivered")
def redelivered(broken: bool) -> Story:
    story = log(1)
    reads(story, "c", 0)
    if not broken:
        story.op("c", "seek")
    reads(story, "c", 0)
    return story


@shows("offset-conflict")
def offset_conflict(broken: bool) -> Story:
    story = log(2)
    story.op("c", "poll", received(P, 0, 0))
    story.op("d", "poll", received(P, 1, 0 if broken else 1))
    return story


@shows("reordered")
def reordered(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0, 1 if broken else 0), lasts=50)
    story.op("p", "send", sent(P, 1, 0 if broken else 1), lasts=50)
    return story


@shows("order-violation")
def order_violation(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0, 1), lasts=5 if broken else 50)
    story.op("q", "send", sent(P, OTHER, 0))
    return story


@shows("sequence-jump")
def sequence_jump(broken: bool) -> Story:
    story = log(2)
    story.op("c", "poll", received(P, 0, 0), received(P, 1, 1), *([received(P, 0, 2)] if broken else []))
    return story


@shows("skipped")
def skipped(broken: bool) -> Story:
    story = log(3)
    reads(story, "c", 0, 2)
    if broken:
        reads(story, "d", 1)
    return story


@shows("rewound")
def rewound(broken: bool) -> Story:
    story = log(2)
    reads(story, "c", 0, 1)
    if not broken:
        story.op("c", "assign")
    reads(story, "c", 0)
    return story


@shows("phantom")
def phantom(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(P, 7 if broken else 0, 0))
    return story


@shows("corrupt")
def corrupt(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(P, 0, 0, payload="corrupt" if broken else "ok"))
    return story


@shows("misrouted")
def misrouted(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(Q if broken else P, 0, 0))
    return story


@shows("commit-regression")
def commit_regression(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", 0, 1)
    story.op("a", "commit", committed(P, 2))
    story.op("a", "commit", committed(P, 1 if broken else 2))
    return story


@shows("commit-beyond")
def commit_beyond(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", 0)
    story.op("a", "commit", committed(P, 2 if broken else 1))
    reads(story, "d", 0, 1)
    return story


@shows("passed-over")
def passed_over(broken: bool) -> Story:
    story = log(3)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", 0)
    story.op("a", "close")
    story.op("b", "assign", assigned(P, generation=2))
    reads(story, "b", *((2,) if broken else (1, 2)))
    reads(story, "d", 0, 1, 2)
    return story


@shows("reprocessed")
def reprocessed(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", 0, 1)
    story.op("a", "commit", committed(P, 1 if broken else 2))
    story.op("a", "close")
    story.op("b", "assign", assigned(P, generation=2))
    reads(story, "b", *((1,) if broken else ()))
    return story


@shows("unowned")
def unowned(broken: bool) -> Story:
    story = log(1)
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "close", start=20)
    story.op("b", "assign", assigned(P, generation=2), start=50 if broken else 22)
    story.op("b", "close", start=90)
    return story


@shows("key-overtaken")
def key_overtaken(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0, 0, key="k"))
    story.op("p", "reroute", counted(P, 2), counted(Q, 2))
    story.op("p", "send", sent(Q, 1, 0, key="k"))
    story.op("a", "assign", assigned(P), assigned(Q))
    first, second = (received(P, 0, 0), received(Q, 1, 0))
    for message in (second, first) if broken else (first, second):
        story.op("a", "poll", message)
    return story


@shows("double-assignment")
def double_assignment(broken: bool) -> Story:
    story = log(1)
    story.op("a", "assign", assigned(P, generation=1))
    story.op("b", "assign", assigned(P, generation=1 if broken else 2))
    for client in ("a", "b"):
        story.op(client, "close")
    return story


@shows("stuck-partition")
def stuck_partition(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", *((0,) if broken else (0, 1)))
    story.op("a", "close", start=500)
    reads(story, "auditor", 0, 1)
    return story


def timed(*waits_ms: float, fault: FaultWindow | None = None) -> Story:
    """Sends every 10 ms, each acknowledged after 1 ms or, for the last ones, as told."""
    story = Story(faults=(fault,) if fault else (), bound_ns=2 * SECOND)
    for index, wait_ms in enumerate([1.0] * 200 + list(waits_ms)):
        due_ns = 10 * MS * index
        story.op("p", "send", sent(P, index, index, intended_ns=due_ns), start=due_ns, lasts=int(wait_ms * MS))
    return story


@shows("unavailable")
def unavailable(broken: bool) -> Story:
    return timed(1500 if broken else 900)


@shows("slow-recovery")
def slow_recovery(broken: bool) -> Story:
    return timed(4000 if broken else 1900, fault=FaultWindow(0, "kill", 1990 * MS, 1995 * MS, 2 * SECOND))


@shows("latency-outlier")
def latency_outlier(broken: bool) -> Story:
    return timed(300 if broken else 90)


@shows("stuck")
def stuck(broken: bool) -> Story:
    story = blank()
    story.load_end_ns = 1000 * MS
    story.op("c", "assign")
    story.op("s", "subscribe", subscribed(P, "shared"))
    for value in (0, 1):
        story.op("p", "send", sent(P, value, value))
    for client, f in (("c", "poll"), ("s", "receive")):
        story.op(client, f, received(P, 0, 0, delivery=0), start=60)
        story.op(client, f, *(() if broken else (received(P, 1, 1, delivery=0),)), start=150)
        for at in (200, 800):
            story.op(client, f, start=at)
        story.op(client, "close", start=900)
    reads(story, "auditor", 0, 1, start=2000)
    return story
