"""What a subscriber is given during a subscription, and after it, in slow, plain Python: `stuck` and `misrouted`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from reference_feeds import Feed, Found, Row
from story import Story


def findings_of_stays(story: Story) -> set[Found]:
    """Return what is to be found."""
    feed = Feed(story)
    return {*_stuck(story, feed), *_over(feed)}


def _over(feed: Feed) -> Iterator[Found]:
    for end in feed.told:
        if end["kind"] != "unsubscribed" or end["end_ns"] is None:
            continue
        own = [row for row in feed.operations if row["client"] == end["client"]]
        joins = [row for row in own if row["f"] == "subscribe" and _done(row) >= end["end_ns"]]
        gone = [
            row for row in own if row["f"] == "receive" and row["outcome"] == "fail" and _done(row) >= end["start_ns"]
        ]
        until_ns = min((row["start_ns"] for row in (*joins, *gone)), default=float("inf"))
        for row in feed.receives:
            sent_ns = feed.sent_ns(row)
            after = end["end_ns"] < row["received_ns"] < until_ns
            if row["client"] == end["client"] and after and sent_ns is not None and sent_ns > end["end_ns"]:
                yield "misrouted", row["value"], row["op"]


def _done(row: Row) -> int:
    return int(max(row["start_ns"], row["end_ns"] or 0))


def _stuck(story: Story, feed: Feed) -> Iterator[Found]:
    for stay in feed.single():
        join = next(row for row in feed.told if row["member"] == stay.member and row["end_ns"] == stay.from_ns)
        times = sorted(row["received_ns"] for row in feed.all_receives if row["client"] == join["client"])
        begin_ns, end_ns = max(stay.from_ns, 0), min(stay.until_ns, story.load_end_ns or 0)
        inside = [at for at in times if begin_ns < at < end_ns]
        for silent_ns, over_ns in pairwise([begin_ns, *inside, max(end_ns, begin_ns)]):
            if over_ns - silent_ns <= story.bound_ns:
                continue
            asks = [
                row["start_ns"]
                for row in feed.operations
                if row["client"] == join["client"] and row["f"] == "receive" and silent_ns <= row["start_ns"] < over_ns
            ]
            if asks and max(asks) - min(asks) > story.bound_ns:
                yield from [
                    ("stuck", send["value"], join["op"])
                    for send in feed.sends
                    if _waited(feed, send, stay.member, stay.from_ns, max(asks) - story.bound_ns, over_ns)
                    and not feed.out_of_reach(send, stay)
                ][:1]


def _waited(  # noqa: PLR0917 - what a message must have done
    feed: Feed, send: Row, member: str, since_ns: int, acked_before_ns: int, over_ns: int
) -> bool:
    came = [row["received_ns"] for row in feed.receives if row["member"] == member and row["value"] == send["value"]]
    acked = send["outcome"] == "ok" and send["start_ns"] >= since_ns and send["end_ns"] < acked_before_ns
    return acked and bool(came) and min(came) >= over_ns
