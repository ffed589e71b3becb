"""The checker of ledgers: evidence by hand, and a simulated BookKeeper, correct and without fencing."""

from __future__ import annotations

import random

import pytest
from bookkeeper_model import BookKeeper
from gallery_ledgers import L, confirmed, ended, ledger, recovered
from hypothesis import given
from hypothesis import strategies as st
from story import Story, received, sent

from chaoskit.model.audit import Bounds
from checkers.ledger.ledgers import FENCING_DETAILS, LAC_REGRESSION_DETAILS, LOST_ENTRY_DETAILS, LedgerChecker

LEDGER_ANOMALIES = {anomaly.name for anomaly in LedgerChecker.anomalies}


def test_an_entry_that_the_final_read_misses_is_lost_as_a_message_and_as_an_entry() -> None:
    story = recovered(ledger(2, Bounds(0, 1, complete=True)), 0)

    (finding,) = story.only("lost-entry")
    assert (finding["value"], finding["position"], finding["other_position"]) == (1, 1, 1)
    assert (finding["op"], finding["other_op"], finding["detail"]) == (2, 3, LOST_ENTRY_DETAILS[0])
    assert [row["value"] for row in story.only("lost")] == [1]


def test_an_entry_within_the_ledger_that_no_bookie_has_is_lost() -> None:
    story = ledger(3, Bounds(0, 3, complete=True))
    story.op("auditor", "recover", ended(3))
    story.op("auditor", "read", received(L, 0, 0), received(L, 2, 2))

    assert [(row["position"], row["detail"]) for row in story.only("lost-entry")] == [(1, LOST_ENTRY_DETAILS[1])]


def test_an_end_below_an_acknowledged_entry_proves_its_loss_without_a_final_read() -> None:
    story = ledger(2)
    story.op("r", "recover", ended(1))

    assert [row["position"] for row in story.only("lost-entry")] == [1]


def test_an_end_that_may_not_have_been_told_proves_nothing() -> None:
    story = ledger(2)
    story.op("r", "recover", ended(1), outcome="info")

    assert not story.names() & LEDGER_ANOMALIES


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_an_add_of_which_nobody_knows_is_not_lost(outcome: str) -> None:
    story = ledger(1, Bounds(0, 1, complete=True))
    story.op("w", "add", sent(L, 1), outcome=outcome)

    assert not recovered(story, 0).names()


def test_an_entry_that_a_later_reader_finds_is_not_lost() -> None:
    story = ledger(2, Bounds(0, 2, complete=True))
    story.op("r", "recover", ended(1))

    assert recovered(story, 0, 1).names() >= {"readers-disagree"}
    assert not story.only("lost-entry")


def test_a_reader_is_told_less_than_before() -> None:
    story = ledger(3)
    story.op("r", "open", confirmed(1))
    story.op("r", "lac", confirmed(3))
    story.op("r", "lac", confirmed(2))

    (finding,) = story.only("lac-regression")
    assert (finding["position"], finding["op"], finding["other_position"], finding["other_op"]) == (2, 6, 3, 5)
    assert finding["detail"] == LAC_REGRESSION_DETAILS[0]


def test_a_reader_that_opens_the_ledger_anew_may_be_told_less() -> None:
    story = ledger(3)
    story.op("r", "open", confirmed(3))
    story.op("r", "open", confirmed(2))

    assert not story.names() & LEDGER_ANOMALIES


def test_another_reader_may_be_told_less_while_the_ledger_is_open() -> None:
    story = ledger(3)
    story.op("r", "open", confirmed(3))
    story.op("q", "open", confirmed(2))

    assert not story.names() & LEDGER_ANOMALIES


@pytest.mark.parametrize("first", ["told", "ended"])
def test_a_ledger_must_not_end_below_what_was_told_to_be_confirmed(first: str) -> None:
    story = ledger(0)
    if first == "told":
        story.op("r", "open", confirmed(3))
    story.op("q", "recover", ended(2))
    if first == "ended":
        story.op("r", "open", confirmed(3))

    (finding,) = story.only("lac-regression")
    assert (finding["position"], finding["other_position"], finding["detail"]) == (2, 3, LAC_REGRESSION_DETAILS[1])


def test_a_ledger_may_end_beyond_what_was_told() -> None:
    story = ledger(3)
    story.op("r", "open", confirmed(2))

    assert not recovered(story, 0, 1, 2, client="r").names() & LEDGER_ANOMALIES


def test_an_add_begun_after_a_recovery_must_not_be_acknowledged() -> None:
    story = ledger(1)
    story.op("r", "recover", ended(1))
    story.op("w", "add", sent(L, 1, 1))

    (finding,) = story.only("fencing-violation")
    assert (finding["value"], finding["position"], finding["op"]) == (1, 1, 3)
    assert (finding["other_op"], finding["other_position"], finding["detail"]) == (2, 1, FENCING_DETAILS[0])


def test_an_add_under_way_during_a_recovery_must_not_be_acknowledged_beyond_its_end() -> None:
    story = ledger(1)
    story.op("w", "add", sent(L, 1, 1), start=20, lasts=100)
    story.op("r", "recover", ended(1), start=30)

    assert [row["detail"] for row in story.only("fencing-violation")] == [FENCING_DETAILS[1]]


def test_an_add_under_way_during_a_recovery_may_belong_to_the_ledger() -> None:
    story = ledger(1)
    story.op("w", "add", sent(L, 1, 1), start=20, lasts=100)
    story.op("r", "recover", ended(2), start=30)

    assert not story.names() & LEDGER_ANOMALIES


def test_an_add_acknowledged_before_a_recovery_that_ends_below_it_is_lost_not_fenced() -> None:
    story = ledger(2)
    story.op("r", "recover", ended(1))

    assert story.names() & LEDGER_ANOMALIES == {"lost-entry"}


def test_a_writer_that_ends_its_own_ledger_fences_nobody() -> None:
    story = ledger(1)
    story.op("w", "add", sent(L, 1, 1), start=20, lasts=100)
    story.op("w", "close", ended(2), start=30)

    assert not story.names() & LEDGER_ANOMALIES


def test_who_only_sees_that_a_ledger_ended_did_not_fence() -> None:
    story = ledger(1)
    story.op("r", "lac", ended(1))
    story.op("w", "add", sent(L, 1, 1))

    assert "fencing-violation" not in story.names()


def test_each_further_end_is_told_once() -> None:
    story = ledger(0)
    for client, end in (("a", 2), ("b", 1), ("c", 2), ("d", 1), ("e", 0)):
        story.op(client, "recover", ended(end))

    ends = sorted((row["position"], row["op"], row["other_position"]) for row in story.only("readers-disagree"))
    assert ends == [(0, 5, 2), (1, 2, 2)]


def test_two_payloads_at_one_entry() -> None:
    story = recovered(ledger(2), 0, 0)

    assert [(row["position"], row["value"]) for row in story.only("entry-conflict")] == [(1, 1)]


def test_what_is_no_ledger_is_left_alone() -> None:
    story = Story()
    story.op("w", "send", sent("t/0", 0, 5))
    story.op("c", "poll", received("t/0", 1, 5))

    assert "offset-conflict" in story.names()
    assert not story.names() & LEDGER_ANOMALIES


QUORUMS = st.integers(1, 4).flatmap(lambda write: st.tuples(st.just(write), st.integers(1, write)))


@given(QUORUMS, st.integers(0, 12), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2**32))
def test_a_correct_bookkeeper_shows_no_anomaly(
    quorums: tuple[int, int], adds: int, recoveries: int, readers: int, seed: int
) -> None:
    model = BookKeeper(*quorums, fences=True, source=random.Random(seed))
    model.run(adds, recoveries, readers)

    assert model.story.check() == []


@given(QUORUMS, st.integers(0, 12), st.integers(0, 2), st.integers(0, 2**32))
def test_bookies_that_ignore_the_fence_are_found_out(
    quorums: tuple[int, int], adds: int, readers: int, seed: int
) -> None:
    model = BookKeeper(*quorums, fences=False, source=random.Random(seed))
    model.run(adds, 1, readers)
    model.add()

    assert "fencing-violation" in model.story.names()


@pytest.mark.parametrize(("write", "ack"), [(write, ack) for write in (1, 2, 3) for ack in range(1, write + 1)])
def test_one_bookie_that_forgot_may_be_enough_whatever_the_ack_quorum(write: int, ack: int) -> None:
    lost = set()
    for seed in range(60):
        model = BookKeeper(write, ack, fences=True, source=random.Random(seed))
        model.run_until_one_forgets(adds=12, steps=40)
        lost |= model.story.names()

    assert lost == {"lost", "lost-entry"}
