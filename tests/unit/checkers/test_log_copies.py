"""Duplicate, redelivered and offset-conflict: each fires, and does not fire when nearly so."""

from __future__ import annotations

import pytest
from notation import Step, assign, finding, history, poll, seek, send

from chaoskit.model.audit import Bounds


def test_duplicate() -> None:
    run = history(send(1, at=0), poll("c", (0, 1), (1, 1)), poll("d", (0, 1), (1, 1), (2, 1)))

    assert run.only("duplicate") == [
        finding(value=1, position=1, op=1, other_value=1, other_position=0, other_op=1, at_ns=15),
        finding(value=1, position=2, op=2, other_value=1, other_position=0, other_op=1, at_ns=25),
    ]
    assert run.anomalies() == {"duplicate": [1, 1]}


def test_message_read_twice_at_one_position_is_no_duplicate() -> None:
    assert history(send(1, at=0), poll("c", (0, 1)), poll("d", (0, 1))).check() == []


def test_a_message_that_was_acknowledged_at_another_position_is_a_duplicate() -> None:
    (row,) = history(send(1, at=0), poll("c", (1, 1))).only("duplicate")

    assert (row["position"], row["other_position"]) == (1, 0)
    assert history(send(1, at=0), send(1, at=1), poll("c", (1, 1))).only("duplicate") == [], "it was sent again"


def test_redelivered_between_polls() -> None:
    run = history(send(1, at=4), poll("c", (4, 1)), poll("d", (4, 1)), poll("c", (4, 1)))

    assert run.only("redelivered") == [
        finding(value=1, position=4, op=3, other_value=1, other_op=1, at_ns=35, detail="between polls")
    ]
    assert run.anomalies() == {"redelivered": [1]}


def test_redelivered_within_a_poll() -> None:
    run = history(send(1, at=4), poll("c", (4, 1), (4, 1)))

    assert run.only("redelivered") == [
        finding(value=1, position=4, op=1, other_value=1, other_op=1, at_ns=15, detail="internal")
    ]


def test_redelivered_after_other_positions() -> None:
    run = history(send(1, at=0), send(2, at=1), poll("c", (0, 1), (1, 2)), poll("c", (0, 1), (1, 2)))

    assert run.anomalies() == {"redelivered": [1, 2], "rewound": [1]}


@pytest.mark.parametrize("repositioned", [assign("c"), seek("c"), Step("c", "subscribe", "info")])
def test_repositioned_consumer_may_receive_a_position_again(repositioned: Step) -> None:
    assert history(send(1, at=4), poll("c", (4, 1)), repositioned, poll("c", (4, 1))).check() == []


def test_rebalance_inside_a_poll_repositions_what_that_poll_returns() -> None:
    run = history(send(1, at=4), poll("c", (4, 1)), poll("c", (4, 1), lasts=1), assign("c"))

    assert run.check() == []


@pytest.mark.parametrize("elsewhere", [seek("d"), Step("c", "commit")])
def test_redelivered_though_somebody_else_was_repositioned(elsewhere: Step) -> None:
    run = history(send(1, at=4), poll("c", (4, 1)), elsewhere, poll("c", (4, 1)))

    assert run.anomalies() == {"redelivered": [1]}


def test_poll_that_never_ended_belongs_to_the_session_in_which_it_began() -> None:
    run = history(send(1, at=4), poll("c", (4, 1)), poll("c", (4, 1), completes=False), assign("c"))

    assert run.anomalies() == {"redelivered": [1]}


def test_offset_conflict_between_two_receives() -> None:
    run = history(send(1, "info"), send(2, at=0), poll("c", (0, 2)), poll("d", (0, 1)))

    assert run.only("offset-conflict") == [
        finding(
            value=1,
            position=0,
            op=3,
            other_value=2,
            other_position=0,
            other_op=2,
            at_ns=35,
            detail="received",
        )
    ]
    assert run.anomalies() == {"offset-conflict": [1]}


def test_offset_conflict_between_an_acknowledgement_and_a_receive() -> None:
    run = history(send(1, at=0), send(2, at=1), poll("c", (0, 2), (1, 1)))

    assert run.only("offset-conflict") == [
        finding(
            value=value,
            position=value - 1,
            op=value - 1,
            other_value=3 - value,
            other_position=value - 1,
            other_op=2,
            at_ns=10 * value - 5,
            detail="acknowledged",
        )
        for value in (1, 2)
    ]


def test_offset_conflict_between_two_acknowledgements() -> None:
    run = history(send(1, at=0), send(2, at=0))

    assert run.only("offset-conflict") == [
        finding(
            value=2,
            position=0,
            op=1,
            other_value=1,
            other_position=0,
            other_op=0,
            at_ns=15,
            detail="acknowledged",
        )
    ]


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_position_of_a_send_that_was_not_acknowledged_is_no_observation(outcome: str) -> None:
    assert history(send(1, outcome, at=0), send(2, at=0), poll("c", (0, 2))).check() == []


def test_corrupt_payload_at_a_position_is_no_conflict() -> None:
    run = history(send(1, at=0), poll("c", (0, 7, "corrupt")), poll("d", (0, 1)))

    assert run.anomalies() == {"corrupt": [7]}


def test_message_sent_twice_and_stored_once_is_right() -> None:
    run = history(
        send(1, "info"),
        send(1, error="duplicate"),
        poll("c", (0, 1)),
        poll("auditor", (0, 1)),
        audit=Bounds(0, 1, True),
    )

    assert run.check() == []


def test_message_sent_twice_and_stored_twice_is_a_duplicate() -> None:
    run = history(send(1, "info"), send(1, at=1), poll("c", (0, 1), (1, 1)))

    assert run.anomalies() == {"duplicate": [1]}
