"""Delivery that never comes, in logs: to readers and to consumers of subscriptions."""

from __future__ import annotations

from typing import Any

import pytest
from gallery_log import MS, P, reads
from gallery_transactions import still_open
from story import Story, received, seen_by, sent, subscribed

from chaoskit.contract.checkers.checker import FaultWindow

BOUND_MS, END_MS = 100, 1000


def story(**more: Any) -> Story:
    """A reader that received the first of two messages at 60 ms, and nothing until it is closed at 900 ms."""
    made = Story(unit_ns=MS, bound_ns=BOUND_MS * MS, load_end_ns=END_MS * MS, **more)
    made.op("c", "assign")
    for value in (0, 1):
        made.op("p", "send", sent(P, value, value))
    reads(made, "c", 0, start=60)
    return made


def ended(made: Story, asks_ms: int = 890) -> list[dict[str, Any]]:
    for at in (70, asks_ms):
        made.op("c", "poll", start=at)
    made.op("c", "close", start=900)
    reads(made, "auditor", 0, 1, start=2000)
    return made.only("stuck")


def test_a_reader_is_stuck_once_the_bound_is_over() -> None:
    (finding,) = ended(story())

    assert (finding["value"], finding["at_ns"]) == (1, (70 + BOUND_MS) * MS)


def test_a_reader_that_is_stuck_behind_an_open_transaction_is_told_whose() -> None:
    made = story()
    for at_ms in (200, 400):
        still_open(made, at_ms, "pay-0", 1, 100)
    still_open(made, 400, "behind", 2, 100)
    still_open(made, 60, "before", 0, 50)

    (finding,) = ended(made)
    assert finding["detail"] == "behind the open transaction of pay-0 (from 0.1 s on, from position 1 on)"


@pytest.mark.parametrize("asks_ms", [70 + BOUND_MS, 71 + BOUND_MS])
def test_a_reader_must_have_asked_after_the_bound_was_over(asks_ms: int) -> None:
    assert bool(ended(story(), asks_ms)) == (asks_ms > 70 + BOUND_MS)


def test_a_fault_and_the_time_to_recover_from_it_do_not_count() -> None:
    long = FaultWindow(0, "kill", 100 * MS, 110 * MS, 790 * MS)
    short = FaultWindow(0, "kill", 100 * MS, 110 * MS, 150 * MS)

    assert ended(story(faults=(long,))) == []
    made = story(faults=(short,))
    made.op("c", "poll", start=260)
    (finding,) = ended(made)
    assert finding["at_ns"] == (260 + BOUND_MS) * MS


def test_a_reader_that_was_told_to_pause_is_not_stuck() -> None:
    made = story()
    made.op("c", "pause", start=70)
    made.op("c", "unpause", start=850)

    assert ended(made) == []


def test_nothing_waits_for_a_reader_that_has_everything() -> None:
    made = story()
    reads(made, "c", 1, start=80)

    assert ended(made) == []


def test_a_reader_that_never_received_anything_is_known_by_what_it_was_told_to_read() -> None:
    made = Story(unit_ns=MS, bound_ns=BOUND_MS * MS, load_end_ns=END_MS * MS)
    made.op("c", "assign", seen_by("reading", P))
    made.op("d", "assign")
    made.op("p", "send", sent(P, 0, 0))
    for client in ("c", "d"):
        for at in (100, 800):
            made.op(client, "poll", start=at)
        made.op(client, "close", start=900)
    reads(made, "auditor", 0, start=2000)

    (finding,) = made.only("stuck")
    assert finding["op"] == 0


@pytest.mark.parametrize("delivered", [True, False])
def test_a_subscription_is_stuck_if_none_of_its_consumers_is_given_what_waits(delivered: bool) -> None:
    made = Story(unit_ns=MS, bound_ns=BOUND_MS * MS, load_end_ns=END_MS * MS)
    for client in ("a", "b"):
        made.op(client, "subscribe", subscribed(P, "shared"))
    made.op("p", "send", sent(P, 0, 0))
    if delivered:
        made.op("b", "receive", received(P, 0, 0, delivery=0), start=100)
    for client in ("a", "b"):
        for at in (110, 800):
            made.op(client, "receive", start=at)
        made.op(client, "close", start=900)
    reads(made, "auditor", 0, start=2000)

    assert bool(made.only("stuck")) != delivered
