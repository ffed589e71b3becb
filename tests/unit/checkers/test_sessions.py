"""What ends a consumer's session, and what does not."""

from __future__ import annotations

import pytest
from queue_story import Queue


def _story(outcome: str) -> Queue:
    """Three messages were given to one consumer, who could settle none, and they are not there any more."""
    story = Queue.of(3, delivery_limit=2)
    story.op("c", "subscribe", start=50)
    for value in range(3):
        story.take("c", value, start=100 + 20 * value)
        story.settle("c", value, start=110 + 20 * value)
        story.operations[-1]["outcome"] = outcome
    return story.end()


@pytest.mark.parametrize(
    ("outcome", "findings"),
    [
        ("fail", {"unacked-vanished": 3}),  # they came on one connection, and were returned once at most
        ("info", {}),  # they may have been settled
    ],
)
def test_a_settlement_that_failed_ends_no_session(outcome: str, findings: dict[str, int]) -> None:
    story = _story(outcome)

    assert {name: len(story.only(name)) for name in story.names() & {"unacked-vanished", "unseen"}} == findings


@pytest.mark.parametrize(
    ("error", "findings"),
    [
        ("not connected", {"lost": 1}),  # nothing was sent to a consumer without a connection
        ("StreamLostError", {"unseen": 1}),  # each of these connections may have had it
    ],
)
def test_who_has_no_connection_is_given_nothing(error: str, findings: dict[str, int]) -> None:
    story = Queue.of(1, delivery_limit=4)
    story.op("c", "subscribe", start=50)
    story.op("c", "receive", start=100, outcome="fail", error="StreamLostError")
    for number in range(4):
        story.op("c", "receive", start=200 + 20 * number, outcome="fail", error=error)
    story.end()

    assert {name: len(story.only(name)) for name in story.names() & {"lost", "unseen"}} == findings
