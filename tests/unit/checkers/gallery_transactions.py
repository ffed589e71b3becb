"""The gallery's histories of transactions."""

from __future__ import annotations

from typing import Any

from gallery_log import MS, OTHER, THIRD, P, Q, blank, reads, shows
from story import Story, received, sent

from chaoskit.model.audit import Bounds


def transaction(end: str, *messages: dict[str, Any]) -> Story:
    """One transaction of client a, which ends as told."""
    story = blank()
    story.op("a", "begin", txn=0)
    for message in messages:
        story.op("a", "send", message, txn=0)
    story.op("a", "end", txn=0, outcome=end)
    return story


@shows("aborted-read")
def aborted_read(broken: bool) -> Story:
    story = transaction("fail" if broken else "ok", sent(P, 0, 0))
    reads(story, "c", 0)
    return story


@shows("precommitted-read")
def precommitted_read(broken: bool) -> Story:
    story = transaction("ok", sent(P, 0, 0))
    reads(story, "c", 0, start=15 if broken else 40, lasts=2)
    return story


@shows("torn-transaction")
def torn_transaction(broken: bool) -> Story:
    story = transaction("ok", sent(P, 0, 0), sent(Q, 1, 0))
    story.audits |= {P: Bounds(0, 1, complete=True), Q: Bounds(0, 0 if broken else 1, complete=True)}
    story.op("auditor", "poll", received(P, 0, 0), *([] if broken else [received(Q, 1, 0)]))
    return story


def still_open(story: Story, at_ms: int, name: str, position: int, since_ms: int) -> int:
    """A look at the partition saw a transaction that had been open before."""
    row = {"kind": "open-transaction", "topic": "t", "partition": 0, "name": name}
    return story.op("survey-0", "look", {**row, "value": since_ms * MS, "position": position}, start=at_ms, lasts=1)


@shows("held-back")
def held_back(broken: bool) -> Story:
    story = transaction("ok", sent(P, 0, 0))
    for at_ms in (2_000, 3_000) if broken else (2_000,):
        still_open(story, at_ms, "pay-0", 0, 1_000)
    reads(story, "c", 0, start=3_500)
    return story


@shows("zombie-write")
def zombie_write(broken: bool) -> Story:
    story = blank()
    story.op("a#1", "init")
    story.op("a#2" if broken else "b#2", "init")
    story.op("a#1", "send", sent(P, 0, 0))
    reads(story, "c", 0)
    return story


def together(*transactions: list[dict[str, Any]], apart: bool = False) -> Story:
    """Whole transactions, each by a client of its own, all at once or one after the other."""
    story = blank()
    for index, messages in enumerate(transactions):
        story.op(f"c{index}", "txn", *messages, txn=index, lasts=5 if apart else 1000)
    return story


@shows("G0")
def g0(broken: bool) -> Story:
    first, second = (1, 0) if broken else (0, 1)
    return together([sent(P, 0, 0), sent(Q, 1, first)], [sent(P, OTHER, 1), sent(Q, OTHER + 1, second)])


@shows("G1c")
def g1c(broken: bool) -> Story:
    first = received("t/2", THIRD, 0) if broken else sent("t/3", 1, 0)
    return together(
        [sent(P, 0, 0), first],
        [sent(Q, OTHER, 0), received(P, 0, 0)],
        [sent("t/2", THIRD, 0), received(Q, OTHER, 0)],
    )


@shows("G-single")
def g_single(broken: bool) -> Story:
    passing = received(P, OTHER, 2) if broken else received(P, 0, 1)
    story = together([sent(P, 0, 1), sent(Q, 1, 0)], [received(P, THIRD, 0), passing, received(Q, 1, 0)])
    story.op("w", "send", sent(P, THIRD, 0))
    story.op("w", "send", sent(P, OTHER, 2))
    reads(story, "d")
    story.op("d", "poll", received(P, 0, 1))
    return story


def missing_each_other(*, both: bool, clients: tuple[str, str], apart: bool) -> Story:
    """Two transactions, the first of which passes over the second's write, and maybe the other way round.

    What they land on was sent by nobody, so that no other dependency closes a shorter cycle.
    """
    story = blank()
    story.op("w", "send", sent(P, THIRD, 0))
    story.op("w", "send", sent(Q, THIRD + 1, 0))
    lasts = 5 if apart else 1000
    missed = [received(P, THIRD, 0), received(P, THIRD + 8, 2)]
    story.op(clients[0], "txn", sent(P, 0, 1), received(Q, THIRD + 1, 0), received(Q, THIRD + 9, 2), txn=2, lasts=lasts)
    story.op(clients[1], "txn", sent(Q, OTHER, 1), *(missed if both else []), txn=3, lasts=lasts)
    story.op("d", "poll", received(P, 0, 1), received(Q, OTHER, 1))
    return story


@shows("G2")
def g2(broken: bool) -> Story:
    return missing_each_other(both=broken, clients=("a", "b"), apart=False)


@shows("G0-process")
def g0_process(broken: bool) -> Story:
    story = blank()
    story.op("a", "txn", sent(P, 0, 1), txn=0, lasts=1000)
    story.op("a" if broken else "b", "txn", sent(P, 1, 0), txn=1, lasts=1000)
    return story


@shows("G1c-process")
def g1c_process(broken: bool) -> Story:
    story = blank()
    story.op("a", "txn", received(P, OTHER, 0), txn=0, lasts=1000)
    story.op("b", "txn", sent(P, OTHER, 0), received(Q, 0, 0), txn=1, lasts=1000)
    story.op("a" if broken else "c", "txn", sent(Q, 0, 0), txn=2, lasts=1000)
    return story


def passed_over(*, lasts: int, reader: str = "a") -> Story:
    """A writer's message is passed over by a reader that began when the writer had written."""
    story = blank()
    story.op("w", "send", sent(P, THIRD, 0), lasts=1000)
    story.op("b", "txn", sent(P, 0, 1), txn=1, lasts=lasts)
    story.op(reader, "txn", received(P, THIRD, 0), received(P, THIRD + 8, 2), txn=2, lasts=1000)
    story.op("d", "poll", received(P, 0, 1), lasts=1000)
    return story


@shows("G-single-process")
def g_single_process(broken: bool) -> Story:
    return passed_over(lasts=1000, reader="b" if broken else "a")


@shows("G-single-realtime")
def g_single_realtime(broken: bool) -> Story:
    return passed_over(lasts=5 if broken else 1000)


def two_passed_over(*, lasts: int, reader: str) -> Story:
    """A chain: the reader passes over a write of somebody who passes over a write that came before the reader."""
    story = blank()
    story.op("w", "send", sent(P, THIRD, 0), lasts=1000)
    story.op("w", "send", sent(Q, THIRD + 1, 0), lasts=1000)
    story.op("b", "txn", sent(Q, OTHER, 1), txn=2, lasts=lasts)
    story.op(reader, "txn", received(P, THIRD, 0), received(P, THIRD + 8, 2), txn=3, lasts=1000)
    middle = [sent(P, 0, 1), received(Q, THIRD + 1, 0), received(Q, THIRD + 9, 2)]
    story.op("m", "txn", *middle, txn=4, start=5, lasts=1000)
    story.op("d", "poll", received(P, 0, 1), received(Q, OTHER, 1), lasts=1000)
    return story


@shows("G2-process")
def g2_process(broken: bool) -> Story:
    return two_passed_over(lasts=1000, reader="b" if broken else "a")


@shows("G2-realtime")
def g2_realtime(broken: bool) -> Story:
    return two_passed_over(lasts=5 if broken else 1000, reader="a")


@shows("G0-realtime")
def g0_realtime(broken: bool) -> Story:
    return together([sent(P, 0, 1)], [sent(P, OTHER, 0)], apart=broken)


@shows("G1c-realtime")
def g1c_realtime(broken: bool) -> Story:
    return together([received(P, OTHER, 0)], [sent(P, OTHER, 0)], apart=broken)
