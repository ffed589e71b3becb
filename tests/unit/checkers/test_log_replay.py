"""Consumers that go back: what they asked for is no anomaly, what they miss of it or did not ask for is one."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from story import Story, received, sent, sought

from chaoskit.judge.findings.checking import controlling, found_in
from chaoskit.model.audit import Bounds
from chaoskit.model.tables import OPERATIONS

P, Q = "t/0", "t/1"


def filled(*places: str, count: int = 6) -> Story:
    """A log of so many messages, of which `c` has read all."""
    story = Story()
    for place in places:
        for index in range(count):
            story.op("p", "send", sent(place, index, index))
        story.op("c", "poll", *(received(place, index, index) for index in range(count)))
    return story


def reads(story: Story, place: str, *positions: int) -> int:
    return story.op("c", "poll", *(received(place, position, position) for position in positions))


@pytest.mark.parametrize("begin", [0, 1, 2])
def test_what_was_sought_or_more_may_come_again(begin: int) -> None:
    story = filled(P)
    story.op("c", "replay", sought(P, 2))
    reads(story, P, *range(begin, 6))

    assert story.check() == []


def test_a_replay_that_begins_behind_what_was_sought_has_skipped() -> None:
    story = filled(P)
    replay = story.op("c", "replay", sought(P, 2))
    poll = reads(story, P, 4, 5)

    assert story.only("skipped") == [
        {"anomaly": "skipped", "topic": "t", "partition": 0, "detail": "past what a replay sought"}
        | {"value": 4, "position": 4, "op": poll, "at_ns": 10 * poll + 5}
        | {"other_value": 2, "other_position": 2, "other_op": replay}
    ]


def test_a_replay_that_did_not_happen_although_it_was_confirmed_has_skipped() -> None:
    story = filled(P)
    story.op("p", "send", sent(P, 6, 6))
    story.op("c", "replay", sought(P, 2))
    reads(story, P, 6)

    assert [finding["other_position"] for finding in story.only("skipped")] == [2]


@pytest.mark.parametrize("why", ["failed", "unknown place", "moved again", "nothing read", "expired"])
def test_what_a_replay_cannot_be_held_to_is_not_skipped(why: str) -> None:
    story = filled(P)
    if why == "expired":
        story.audits[P] = Bounds(4, 6, complete=False)
    story.op(
        "c", "replay", sought(P, None if why == "unknown place" else 2), outcome="info" if why == "failed" else "ok"
    )
    if why == "moved again":
        story.op("c", "seek")
    if why != "nothing read":
        reads(story, P, 4, 5)

    assert story.only("skipped") == []


def test_what_comes_after_the_replay_is_in_order_again() -> None:
    story = filled(P)
    story.op("c", "replay", sought(P, 1))
    reads(story, P, 1, 2)
    back = reads(story, P, 0)
    on = reads(story, P, 3)

    assert [finding["op"] for finding in story.only("rewound")] == [back]
    assert [finding["op"] for finding in story.only("skipped")] == [on]


@pytest.mark.parametrize("whose", ["no replay", "another client", "another partition"])
def test_nobody_else_may_go_back(whose: str) -> None:
    story = filled(P, Q)
    if whose == "another client":
        story.op("d", "replay", sought(P, 0))
    if whose == "another partition":
        story.op("c", "replay", sought(Q, 0))
    poll = reads(story, P, 2)

    assert [(finding["partition"], finding["op"]) for finding in story.only("rewound")] == [(0, poll)]


def test_the_findings_need_no_other_operations_than_spark_reads() -> None:
    story = filled(P)
    story.op("c", "replay", sought(P, 2))
    reads(story, P, 4, 5)
    (part,) = story.parts()
    operations = pa.Table.from_pylist(story.operations, OPERATIONS)
    needed = pa.array(controlling(operations) | pa.compute.is_in(operations["op"], part.messages["op"]).to_numpy())

    assert found_in([replace(part, operations=operations.filter(needed))]).equals(story.table())
