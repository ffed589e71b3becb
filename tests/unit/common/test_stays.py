"""When the subscriptions of a client began and ended, as far as its peers tell."""

from __future__ import annotations

import time

from clusters.common.guarantees.stays import Stays
from clusters.common.matching import QUIET_S

SECOND = 10**9


def test_subscriptions_begin_and_end_together() -> None:
    stays = Stays(["a", "b"], SECOND)
    stays.begin(5, lambda _: ["peer"])
    stays.end()

    observed = stays.take()

    assert [(event.kind, event.topic) for event in observed] == [
        ("subscribed", "a"), ("subscribed", "b"), ("unsubscribed", "a"), ("unsubscribed", "b"),
    ]  # fmt: skip
    assert [event.since_ns for event in observed[:2]] == [5, 5]
    assert stays.take() == []


def test_a_peer_that_is_back_ends_the_subscription_of_its_topic_and_begins_it_again_later() -> None:
    stays = Stays(["a", "b"], SECOND)
    stays.begin(5, lambda _: ["peer/1"])
    stays.take()
    stays.look("a", [])
    stays.look("a", ["peer/1"])
    now_ns = time.monotonic_ns()

    parted, ended, begun = [*stays.take(), *stays._changes]

    assert (parted.kind, parted.topic, parted.who) == ("parted", "a", "peer")
    assert parted.since_ns == parted.until_ns - 2 * SECOND
    assert [(event.kind, event.topic) for event in (ended, begun)] == [("unsubscribed", "a"), ("subscribed", "a")]
    assert ended.since_ns <= now_ns - 2 * SECOND
    assert begun.until_ns - begun.since_ns == round(QUIET_S * SECOND)
