"""Lost, unseen, failed-visible and truncated: each fires, and does not fire when nearly so."""

from __future__ import annotations

import pytest
from notation import Step, assign, finding, history, poll, send, value_of
from story import Story, received, sent, unreadable

from chaoskit.model.audit import Audit, Bounds

COMPLETE = Bounds(low=0, end=3, complete=True)
INCOMPLETE = Bounds(low=0, end=3, complete=False)
UNREADABLE = "the system says that it cannot read it"


def test_correct_history_has_no_findings() -> None:
    run = history(
        send(1, at=0),
        send(2, at=1),
        poll("c", (0, 1), (1, 2)),
        send(3, at=2),
        poll("c", (2, 3)),
        assign("auditor"),
        poll("auditor", (0, 1), (1, 2), (2, 3)),
        audit=COMPLETE,
    )

    assert run.check() == []


def test_lost_when_a_complete_audit_did_not_see_it() -> None:
    run = history(send(1, at=0), poll("auditor"), audit=Bounds(0, 0, True))

    assert run.only("lost") == [
        finding(value=1, position=0, op=0, other_position=0, at_ns=5, detail="audited"),
    ]
    assert run.anomalies() == {"lost": [1]}


def test_lost_when_it_was_read_and_a_complete_audit_no_longer_sees_it() -> None:
    run = history(send(1, at=0), poll("c", (0, 1)), poll("auditor"), audit=Bounds(0, 0, True))

    assert run.only("lost") == [
        finding(
            value=1,
            position=0,
            op=0,
            other_position=0,
            at_ns=5,
            detail="read before, and gone at the final read",
        ),
    ]
    assert run.anomalies() == {"lost": [1], "truncated": [1]}


def test_not_lost_when_it_was_read_and_the_audit_is_incomplete() -> None:
    run = history(send(1, at=1), poll("c", (1, 1)), poll("auditor", (0, 9)), audit=Bounds(0, 2, False))

    assert "lost" not in run.anomalies()


def test_lost_when_its_position_lies_below_one_that_was_read() -> None:
    run = history(send(1, at=0), send(2, at=1), poll("c", (1, 2)), audit=INCOMPLETE)

    assert run.only("lost") == [
        finding(
            value=1,
            position=0,
            op=0,
            other_value=2,
            other_position=1,
            other_op=2,
            at_ns=5,
            detail="below a position that was read",
        )
    ]


def test_lost_when_another_message_was_read_at_its_position() -> None:
    run = history(send(1, at=0), send(2, at=0), poll("c", (0, 2)))

    assert run.anomalies() == {"lost": [1], "offset-conflict": [1]}


def test_lost_without_position_when_its_producer_is_seen_to_go_on() -> None:
    run = history(send(1), send(2), send(3, at=9), send(4), poll("c", (9, 3), (10, 4)))

    assert run.only("lost") == [
        finding(
            value=value,
            op=value - 1,
            other_value=3,
            other_position=9,
            other_op=2,
            at_ns=10 * value - 5,
            detail="a later acknowledged message of its producer is visible",
        )
        for value in (1, 2)
    ]


def test_unseen_when_only_another_producer_is_seen_to_go_on() -> None:
    run = history(send(5), send(6, producer=1), poll("c", (9, value_of(6, producer=1))))

    assert run.only("unseen") == [finding(value=5, op=0, at_ns=5, detail="the audit is incomplete")]
    assert run.anomalies() == {"unseen": [5]}


def test_unseen_when_what_follows_was_never_acknowledged() -> None:
    assert history(send(1), send(2, "info"), poll("c", (9, 2))).anomalies() == {"unseen": [1]}


def test_unseen_when_its_known_position_lies_behind_all_that_was_read() -> None:
    """A later message of the producer that lies *before* it proves nothing."""
    run = history(send(1, at=2), send(2, at=1), poll("c", (1, 2)), audit=INCOMPLETE)

    assert run.only("unseen") == [finding(value=1, position=2, op=0, at_ns=5, detail="the audit is incomplete")]


def test_unseen_when_it_may_have_expired() -> None:
    run = history(send(1), send(2), poll("auditor", (7, 2)), audit=Bounds(7, 8, True))

    assert run.only("unseen") == [
        finding(value=1, op=0, at_ns=5, detail="its position is unknown and earlier positions expired")
    ]


def test_a_message_below_the_first_position_expired() -> None:
    run = history(send(1, at=6), send(2, at=7), poll("auditor", (7, 2)), audit=Bounds(7, 8, True))

    assert run.only("expired") == [finding(value=1, position=6, op=0, at_ns=5, detail="below the first position")]
    assert run.anomalies() == {"expired": [1]}


def test_a_message_that_was_read_and_whose_position_is_unknown_may_have_expired() -> None:
    run = history(send(1), send(2), poll("c", (6, 1)), poll("auditor", (7, 2)), audit=Bounds(7, 8, True))

    (row,) = run.only("expired")
    assert row["detail"] == "its position is unknown, it was read, and earlier positions expired"


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_message_that_was_not_acknowledged_may_be_missing(outcome: str) -> None:
    assert history(send(1, outcome), poll("auditor"), audit=COMPLETE).check() == []


def test_lost_when_it_was_received_corrupt_only() -> None:
    run = history(send(1, at=0), poll("auditor", (0, 1, "corrupt")), audit=Bounds(0, 1, True))

    assert run.anomalies() == {"lost": [1], "corrupt": [1]}


def test_failed_visible() -> None:
    run = history(send(1, "fail"), poll("c", (4, 1)), poll("auditor", (4, 1)))

    assert run.only("failed-visible") == [finding(value=1, position=4, op=0, other_op=1, at_ns=15)]
    assert run.anomalies() == {"failed-visible": [1]}


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_visible_message_is_no_failure_when_it_was_sent_otherwise(outcome: str) -> None:
    assert history(send(1, "fail"), send(1, outcome), poll("c", (4, 1))).check() == []


def test_truncated_when_the_end_went_back() -> None:
    run = history(send(1, at=3), poll("c", (3, 1)), poll("auditor"), audit=INCOMPLETE)

    assert run.only("truncated") == [
        finding(
            value=1,
            position=3,
            op=1,
            other_position=3,
            at_ns=15,
            detail="high watermark went back below it",
        )
    ]


def test_truncated_when_a_complete_audit_passed_over_it() -> None:
    run = history(send(1, at=1), poll("c", (1, 1)), poll("d", (1, 1)), poll("auditor"), audit=COMPLETE)

    assert run.only("truncated") == [
        finding(value=1, position=1, op=1, other_position=3, at_ns=15, detail="position is gone")
    ]
    assert run.anomalies() == {"lost": [1], "truncated": [1]}


def test_what_was_read_after_the_final_read_had_begun_may_have_been_appended_since() -> None:
    """Messages of an abandoned client may be in flight for seconds."""
    begins = Step("auditor", "audit")

    assert history(begins, send(1, at=1), poll("c", (1, 1)), audit=Bounds(0, 1, True)).anomalies().keys() == {"lost"}
    assert "truncated" in history(send(1, at=1), poll("c", (1, 1)), begins, audit=Bounds(0, 1, True)).anomalies()


@pytest.mark.parametrize(
    ("read_by", "audit"),
    [("c", INCOMPLETE), ("c", None), ("c", Bounds(2, 3, True)), ("auditor", Bounds(0, 1, True))],
    ids=["audit incomplete", "no audit", "expired", "read by the auditor only"],
)
def test_position_that_may_still_be_there_is_not_truncated(read_by: str, audit: Audit | None) -> None:
    assert "truncated" not in history(send(1, at=1), poll(read_by, (1, 1)), audit=audit).anomalies()


@pytest.mark.parametrize(
    ("first", "second", "op", "anomalies"),
    [
        (send(1, "info"), send(1, error="duplicate"), 1, {"lost": [1], "dropped-as-duplicate": [1]}),
        (send(1, error="duplicate"), send(1, error="duplicate"), 0, {"lost": [1], "dropped-as-duplicate": [1]}),
        (send(1, error="duplicate"), send(1, at=5), 1, {"lost": [1]}),
    ],
)
def test_message_sent_twice_is_lost_once_whichever_send_was_acknowledged(
    first: Step, second: Step, op: int, anomalies: dict[str, list[int]]
) -> None:
    run = history(first, second, send(2, at=9), poll("auditor", (9, 2)), audit=Bounds(0, 10, True))

    assert run.anomalies() == anomalies
    assert [row["op"] for row in run.only("lost")] == [op]


@pytest.mark.parametrize(("first", "until", "detail"), [(1, 3, UNREADABLE), (0, 2, UNREADABLE), (2, 3, "audited")])
def test_lost_when_the_system_says_that_it_cannot_read_it(first: int, until: int, detail: str) -> None:
    story = Story(audits={"t/0": Bounds(0, 3, complete=True)})
    for value in range(3):
        story.op("p", "send", sent("t/0", value, value))
    story.op("auditor", "skip", unreadable("t/0", first, until))
    story.op("auditor", "poll", received("t/0", 0, 0), received("t/0", 2, 2))

    assert [(row["value"], row["detail"]) for row in story.only("lost")] == [(1, detail)]
