"""What falls between two members of a group is found, and nothing that may have been given to the group is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from story import Story, assigned, committed, received, sent

from chaoskit.model.audit import Bounds

P = "t/0"
COUNT = 8


def handed_over(second: Sequence[int] = (6, 7), *, between: Callable[[Story], object] | None = None) -> Story:
    """A group of which one member received 0 to 2, and the next one these; everything is in the log."""
    story = Story(audits={P: Bounds(0, COUNT, complete=True)})
    for value in range(COUNT):
        story.op("p", "send", sent(P, value, value))
    story.op("a", "subscribe")
    story.op("b", "subscribe")
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", *(received(P, value, value) for value in range(3)))
    if between:
        between(story)
    story.op("a", "close")
    story.op("b", "assign", assigned(P, generation=2))
    story.op("b", "poll", *(received(P, value, value) for value in second))
    story.op("auditor", "poll", *(received(P, value, value) for value in range(COUNT)))
    return story


def test_what_lies_between_two_members_was_passed_over() -> None:
    story = handed_over()
    poll, before = len(story.operations) - 2, len(story.operations) - 5

    assert story.check() == [
        {"anomaly": "passed-over", "topic": "t", "partition": 0, "value": value, "position": value, "op": poll}
        | {"other_value": 6, "other_position": 6, "other_op": before, "at_ns": 10 * poll + 5}
        for value in (3, 4, 5)
    ]


def test_commits_make_no_difference() -> None:
    story = handed_over(between=lambda story: story.op("a", "commit", committed(P, 3)))

    assert [row["value"] for row in story.only("passed-over")] == [3, 4, 5]


REASONS: dict[str, Callable[[Story], object]] = {
    "a member received it": lambda story: story.op("b", "poll", *(received(P, value, value) for value in (3, 4, 5))),
    "one who may be a member received it": lambda story: (
        story.op("c", "subscribe"),
        story.op("c", "poll", *(received(P, value, value) for value in (3, 4, 5))),
    ),
    "a member sought": lambda story: story.op("b", "seek"),
    "a member was killed while it asked": lambda story: story.op("a", "poll", lasts=0, outcome="info"),
    "the group had it at another position": lambda story: story.op(
        "b", "poll", *(received(P, value, value + 10) for value in (3, 4, 5))
    ),
}


@pytest.mark.parametrize("why", REASONS)
def test_what_the_group_may_have_been_given_was_not_passed_over(why: str) -> None:
    assert handed_over(between=REASONS[why]).only("passed-over") == []


def test_who_was_killed_while_it_asked_cannot_have_committed_what_it_never_had() -> None:
    def killed(story: Story) -> None:
        story.op("a", "commit", committed(P, 3))
        story.op("a", "poll", lasts=0, outcome="info")

    assert len(handed_over(between=killed).only("passed-over")) == 3


def test_another_group_makes_no_difference() -> None:
    def other(story: Story) -> None:
        story.op("h", "subscribe")
        story.op("h", "assign", assigned(P, "h", 1))
        story.op("h", "poll", *(received(P, value, value) for value in range(COUNT)))

    assert [row["value"] for row in handed_over(between=other).only("passed-over")] == [3, 4, 5]


def test_nothing_is_concluded_from_where_a_group_began_and_ended() -> None:
    assert handed_over(second=(3, 4)).names() == set()


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_a_message_that_was_not_acknowledged_may_be_passed_over(outcome: str) -> None:
    story = handed_over()
    for value in (3, 4, 5):
        story.operations[value]["outcome"] = outcome

    assert story.only("passed-over") == []


def test_what_was_aborted_is_not_given_to_a_group() -> None:
    story = handed_over()
    for value in (3, 4, 5):
        story.operations[value]["txn"] = 1

    assert story.only("passed-over") == []


def test_what_expired_meanwhile_is_not_passed_over() -> None:
    story = handed_over()
    story.audits = {P: Bounds(6, COUNT, complete=True)}

    assert story.only("passed-over") == []


def test_what_is_lost_is_not_passed_over() -> None:
    story = handed_over()
    story.messages = [row for row in story.messages if row["direction"] == "sent" or row["value"] not in (3, 4, 5)]

    assert [row["value"] for row in story.only("lost")] == [3, 4, 5]
    assert story.only("passed-over") == []
