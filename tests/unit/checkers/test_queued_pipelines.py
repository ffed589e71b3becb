"""The checker of applications that read queues agrees with the definitions, and blames the right habit."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from queued_story import OUT, OUT_2, Queued, queued
from reference_queued import Found, QueuedApplication

from checkers.pipeline.pipelines import PipelineChecker

BY_INPUT = ("unprocessed", "half-processed", "not-drained", "input-dead-lettered", "unconfirmed-output")


@st.composite
def applications(draw: st.DrawFn) -> Queued:
    """An application with one or two sinks that does anything at all with what it is given."""
    sinks = draw(st.sampled_from([(OUT,), (OUT, OUT_2)]))
    least = draw(st.integers(0, 2))
    story = queued((least, max(1, least + draw(st.integers(0, 1)))), sinks)
    story.limit = draw(st.sampled_from([None, 1, 2]))
    story.feed(draw(st.sets(st.integers(0, 5))))
    values, sink = st.integers(0, 6), st.sampled_from(sinks)
    for _ in range(draw(st.integers(0, 20))):
        step = draw(st.sampled_from(["given", "auto-ack", "ack", "nack", "reject", "confirmed", "published", "write"]))
        value = draw(values)
        if step == "given":
            story.given(value, before=draw(st.integers(0, 2)))
        elif step == "write":
            story.write(value, draw(sink), before=draw(st.integers(0, 2)))
        elif step in ("confirmed", "published"):
            story.published(value, confirmed=step == "confirmed", place=draw(sink))
        else:
            story.settled(step, value)
    story.left(*draw(st.sets(st.integers(0, 5))))
    story.dead(*draw(st.sets(st.integers(0, 5), max_size=2)))
    return story


def identified(story: Queued) -> Counter[Found]:
    """Return the findings as the reference identifies them."""
    names = {anomaly.name for anomaly in PipelineChecker.anomalies}
    # What the queue may have dropped is unseen for its own checker, too.
    rows = [
        row for row in story.check() if row["anomaly"] in names and (row["topic"], row["anomaly"]) != ("in", "unseen")
    ]
    return Counter(
        (row["anomaly"], row["value"]) if row["anomaly"] in BY_INPUT else (row["anomaly"], row["topic"], row["value"])
        for row in rows
    )


@given(applications())
def test_findings_are_those_of_the_definitions(story: Queued) -> None:
    expected = QueuedApplication(story).findings()
    for name, *_ in expected:
        event(name)

    assert identified(story) == expected


def details(story: Queued, anomaly: str) -> str:
    (detail,) = {row["detail"] for row in story.only(anomaly)}
    return str(detail)


def given_one() -> Queued:
    story = queued()
    story.feed([0])
    story.given(0, 1000)
    return story


def test_who_never_asks_for_confirms_is_named() -> None:
    story = given_one()
    story.published(0, 1010)
    story.write(0)

    assert details(story, "unconfirmed-output") == (
        "nothing was ever confirmed to application-1: it asks for no publisher confirms, or its queues took nothing"
    )


def test_a_confirm_that_did_not_come_is_told_from_none_at_all() -> None:
    story = queued()
    story.feed([0, 1])
    for value, confirmed in ((0, True), (1, False)):
        story.given(value)
        story.published(value)
        if confirmed:
            story.published(value, confirmed=True)
        story.write(value)

    assert details(story, "unconfirmed-output") == "application-1 published it last, and no confirm of it was seen"


def test_who_consumes_with_automatic_acknowledgement_is_named() -> None:
    story = given_one()
    story.settled("auto-ack", 0, 1000)
    story.ends(1, 1500)

    detail = details(story, "unprocessed")
    assert "sent to application-1 at 1.00 s, which consumes with automatic acknowledgement" in detail
    assert "application-1 ended at 1.50 s (signal SIGKILL)" in detail


def test_who_acknowledges_before_its_work_and_is_killed_is_named() -> None:
    story = given_one()
    story.settled("ack", 0, 1100)
    story.ends(1, 1500)

    assert "acknowledges before its work is done" in details(story, "unprocessed")


def test_another_instance_that_ends_is_not_blamed() -> None:
    story = given_one()
    story.settled("ack", 0, 1100)
    story.ends(0, 1500)

    assert "application-1 acknowledged it at 1.10 s, went on running" in details(story, "unprocessed")


def test_who_does_not_wait_for_a_confirm_is_named() -> None:
    story = given_one()
    story.published(0, 1050)
    story.settled("ack", 0, 1100)
    story.ends(1, 1500)

    assert "does not wait for publisher confirms" in details(story, "unprocessed")


def test_who_rejects_without_a_dead_letter_exchange_is_named() -> None:
    story = given_one()
    story.settled("reject", 0, 1100)

    detail = details(story, "unprocessed")
    assert "application-1 rejected it at 1.10 s without requeueing" in detail
    assert "no dead letter exchange" in detail


def test_what_is_among_the_dead_letters_is_not_gone() -> None:
    story = given_one()
    story.settled("reject", 0, 1100)
    story.dead(0)

    detail = details(story, "input-dead-lettered")
    assert detail == "application-1 rejected it without requeueing at 1.10 s, after 1 delivery"
    assert "unprocessed" not in story.names()


def test_who_returns_an_input_until_its_queue_drops_it_is_named() -> None:
    story = given_one()
    story.limit = 3
    story.given(0, 2000, before=3)
    story.ends(1, 2500)

    assert "after it had been returned 3 times, and did not settle it" in details(story, "unprocessed")


def test_what_was_confirmed_to_the_application_is_not_its_fault() -> None:
    story = given_one()
    story.published(0, 1050)
    story.published(0, 1060, confirmed=True)
    story.settled("ack", 0, 1100)

    assert story.names() == {"unseen"}
    assert "confirmed to the application" in details(story, "unseen")


def test_what_nobody_settled_and_the_queue_does_not_have_is_the_systems_fault() -> None:
    story = given_one()
    story.ends(1, 1500)

    assert story.names() == {"unacked-vanished"}


def test_what_nobody_was_given_and_the_queue_does_not_have_is_the_systems_fault() -> None:
    story = queued()
    story.feed([0])

    assert story.names() == {"lost"}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("", "application-1 was given it at 1.00 s, and did not settle it"),
        ("nack", "application-1 returned it at 1.10 s, after 1 deliveries"),
    ],
)
def test_what_is_left_was_not_drained(how: str, words: str) -> None:
    story = given_one()
    if how:
        story.settled(how, 0, 1100)
    story.left(0)

    assert details(story, "not-drained") == words


def repeated() -> Queued:
    """An output came, and again after a second delivery."""
    story = given_one()
    story.write(0, start=1100)
    return story


def again(story: Queued) -> Queued:
    story.given(0, 3000, instance=0, before=1)
    story.write(0, start=3100)
    story.settled("ack", 0, 3200, instance=0)
    return story


def test_a_kill_between_output_and_acknowledgement_repeats() -> None:
    story = repeated()
    story.ends(1, 1200)

    detail = details(again(story), "processed-twice")
    assert "application-1 ended at 1.20 s (signal SIGKILL) after the output" in detail


def test_a_lost_connection_repeats() -> None:
    detail = details(again(repeated()), "processed-twice")
    assert "delivered again at 3.00 s, since a connection or channel of application-1 ended" in detail


def test_who_returns_what_is_done_repeats_it() -> None:
    story = repeated()
    story.settled("nack", 0, 1200)

    assert "application-1 returned it at 1.20 s, after its output" in details(again(story), "processed-twice")


def test_who_publishes_twice_is_named() -> None:
    story = repeated()
    story.write(0, start=2000)
    story.settled("ack", 0, 3200)

    assert "it was delivered once" in details(story, "processed-twice")


def delivered_again(published: int, confirmed: int) -> Queued:
    """An output came, and again, marked as redelivered."""
    story = given_one()
    for number in range(published):
        story.published(0, 1050 + number)
    for number in range(confirmed):
        story.published(0, 1060 + number, confirmed=True)
    story.settled("ack", 0, 1070)
    story.write(0, start=1100)
    story.write(0, start=2000, before=1)
    return story


@pytest.mark.parametrize(
    ("published", "confirmed", "names"),
    [
        (1, 0, {"unconfirmed-output"}),
        (1, 1, set()),
        (2, 0, {"ambiguous-output", "unconfirmed-output"}),
        (2, 1, {"ambiguous-output"}),
        (2, 2, {"processed-twice", "unseen"}),
        (0, 0, {"ambiguous-output"}),  # nobody saw what was published
    ],
)
def test_an_output_that_is_delivered_again_is_one_if_it_was_published_once(
    published: int, confirmed: int, names: set[str]
) -> None:
    assert delivered_again(published, confirmed).names() == names


@given(
    st.lists(st.lists(st.booleans(), min_size=1, max_size=3).filter(any), min_size=1, max_size=3),
    st.integers(1, 2),
    st.booleans(),
)
def test_no_loss_of_a_delivery_makes_a_verdict_kinder(messages: list[list[bool]], most: int, confirms: bool) -> None:
    """Each message is delivered some times, of which some arrive: what was published too often is never overlooked, and
    what was not is never blamed."""
    story = queued((1, most))
    story.feed([0])
    story.given(0, 1000)
    for number, deliveries in enumerate(messages):
        story.published(0, 1010 + number)
        if confirms:
            story.published(0, 1020 + number, confirmed=True)
        for before, arrives in enumerate(deliveries):
            if arrives:
                story.write(0, start=1100 + 100 * number + before, before=before)
    story.settled("ack", 0, 3000)

    names = story.names()
    if len(messages) > most:
        assert names & {"processed-twice", "ambiguous-output"}
    else:
        assert "processed-twice" not in names
