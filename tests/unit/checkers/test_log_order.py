"""Reordered, skipped and rewound: each fires, and does not fire when nearly so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from notation import Step, assign, finding, history, poll, seek, send
from story import Story, sent

from chaoskit.judge.findings.checking import check_partition


def test_reordered_sends_that_followed_each_other() -> None:
    run = history(send(1, at=5), send(2, at=6), send(3, at=4))

    assert run.only("reordered") == [
        finding(
            value=3,
            position=4,
            op=2,
            other_value=2,
            other_position=6,
            other_op=1,
            at_ns=25,
            detail="completed before the next was invoked",
        )
    ]


@pytest.mark.parametrize(
    "first",
    [send(1, at=5, lasts=1), send(1, "info")],
    ids=["still under way", "never acknowledged"],
)
def test_reordered_sends_of_one_pipeline(first: Step) -> None:
    run = history(first, send(2, at=4), poll("c", (4, 2), (5, 1)))

    assert run.only("reordered") == [
        finding(
            value=2,
            position=4,
            op=1,
            other_value=1,
            other_position=5,
            other_op=0,
            at_ns=15,
            detail="one ordered pipeline",
        )
    ]


def test_each_send_below_an_earlier_one_is_reordered() -> None:
    run = history(send(1, at=9), send(2, at=4), send(3, at=5), send(4, at=10))

    assert [(row["value"], row["other_value"]) for row in run.only("reordered")] == [(2, 1), (3, 1)]


@pytest.mark.parametrize(
    "second",
    [
        send(2, at=4, producer=1),
        send(2, at=4, key="b"),
        send(2, at=4),
        send(2, "info", at=4),
        send(2),
    ],
    ids=["other producer", "other key", "no key", "not acknowledged", "nobody knows where"],
)
def test_sends_that_promise_no_order_are_not_reordered(second: Step) -> None:
    assert "reordered" not in history(send(1, at=5, key="a"), second).anomalies()


def test_order_is_kept_for_each_key_among_others() -> None:
    run = history(send(1, at=5, key="a"), send(2, at=1, key="b"), send(3, at=4, key="a"), send(4, at=2, key="b"))

    assert run.anomalies()["reordered"] == [3]


def test_where_a_message_was_first_received_counts_more_than_its_acknowledgement() -> None:
    run = history(send(1, at=5), send(2, at=2), poll("c", (1, 1), (2, 2), (6, 1)))

    assert run.anomalies() == {"duplicate": [1]}


@pytest.mark.parametrize(
    ("polls", "detail", "other_op"),
    [
        ([poll("c", (0, 1), (3, 4))], "internal", 5),
        ([poll("c", (0, 1)), poll("c", (3, 4))], "between polls", 5),
    ],
)
def test_skipped(polls: list[Step], detail: str, other_op: int) -> None:
    sends = [send(number, at=number - 1) for number in (1, 2, 3, 4)]
    run = history(*sends, poll("d", (0, 1), (1, 2), (2, 3), (3, 4)), *polls)

    op = len(run.operations) - 1
    assert run.only("skipped") == [
        finding(
            value=4,
            position=3,
            op=op,
            other_value=2,
            other_position=1,
            other_op=other_op,
            at_ns=10 * op + 5,
            detail=detail,
        )
    ]
    assert run.anomalies() == {"skipped": [4]}


def test_gap_in_which_nobody_saw_a_message_is_not_skipped() -> None:
    run = history(send(1, at=0), send(2, "info", at=1), send(3, at=2), poll("c", (0, 1), (2, 3)))

    assert run.check() == []


def test_corrupt_message_is_not_skipped_by_others() -> None:
    run = history(send(1, at=0), send(3, at=2), poll("c", (0, 1), (2, 3)), poll("d", (0, 1), (1, 9, "corrupt"), (2, 3)))

    assert run.anomalies() == {"corrupt": [9]}


def test_rewound_between_polls() -> None:
    run = history(send(1, at=0), send(2, at=1), poll("c", (1, 2)), poll("c", (0, 1)))

    assert run.only("rewound") == [
        finding(
            value=1,
            position=0,
            op=3,
            other_value=2,
            other_position=1,
            other_op=2,
            at_ns=35,
            detail="between polls",
        )
    ]
    assert run.anomalies() == {"rewound": [1]}


def test_rewound_within_a_poll() -> None:
    run = history(send(1, at=0), send(2, at=1), poll("c", (1, 2), (0, 1)))

    assert [row["detail"] for row in run.only("rewound")] == ["internal"]


@pytest.mark.parametrize("repositioned", [assign("c"), seek("c"), Step("c", "subscribe")])
@pytest.mark.parametrize("target", [(0, 1), (2, 3)])
def test_repositioned_consumer_may_move_anywhere(repositioned: Step, target: tuple[int, int]) -> None:
    sends = [send(number, at=number - 1) for number in (1, 2, 3, 4, 5)]
    run = history(
        *sends,
        poll("d", (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)),
        poll("c", (1, 2)),
        repositioned,
        poll("c", target),
    )

    assert run.check() == []


def test_consumers_move_independently() -> None:
    run = history(
        send(1, at=0),
        send(2, at=1),
        poll("c", (0, 1)),
        poll("d", (0, 1)),
        poll("c", (1, 2)),
        poll("d", (1, 2)),
    )

    assert run.check() == []


def test_message_that_only_a_later_send_of_it_acknowledged_can_be_late() -> None:
    steps = [send(1, "info"), send(1, at=1), send(2, at=0), send(3, at=2), poll("c", (0, 2), (2, 3)), poll("d", (1, 1))]

    assert [(row["value"], row["op"]) for row in history(*steps).only("late")] == [(1, 1)]


@pytest.mark.parametrize(("apart_ns", "certain"), [(0, True), (4, True), (5, False), (1000, False)])
def test_an_order_in_real_time_must_be_certain(apart_ns: int, certain: bool) -> None:
    """Two clients on two machines: the first one's send ended 5 ns before the second's began."""
    story = Story()
    story.op("p", "send", sent("t/0", 1, 1), lasts=5)
    story.op("q", "send", sent("t/0", 1 << 40, 0))
    (part,) = story.parts()

    checked = check_partition(replace(part, setting=replace(part.setting, apart_ns=apart_ns, clocks=(("p",), ("q",)))))

    anomalies = {name for part in checked for name in part.findings["anomaly"].to_pylist()}
    assert ("order-violation" in anomalies) is certain


def test_clients_of_one_machine_have_one_clock() -> None:
    story = Story()
    story.op("p", "send", sent("t/0", 1, 1), lasts=5)
    story.op("q", "send", sent("t/0", 1 << 40, 0))
    (part,) = story.parts()

    checked = check_partition(replace(part, setting=replace(part.setting, apart_ns=1000, clocks=(("p", "q"),))))

    assert any("order-violation" in part.findings["anomaly"].to_pylist() for part in checked)
