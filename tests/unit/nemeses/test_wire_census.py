"""Messages that taps count, and what the evidence of a census tells."""

from __future__ import annotations

import pytest

from chaoskit.contract.installed import nemesis
from chaoskit.contract.nemesis import Counting
from chaoskit.contract.wire import Header
from nemeses.wire import census
from nemeses.wire.rules import ANY, COUNT, REQUEST, RESPONSE, Rule, Rules

COUNTS = {"n1": {"request Fetch": 20, "response Fetch": 19, "request basic.ack": 3}, "n2": {}}


def test_all_messages_of_both_directions_are_counted_and_pass() -> None:
    rules = Rules()
    rules.add("r", {"message": ANY, "of": REQUEST, "then": COUNT})
    sent = [(REQUEST, "Fetch"), (RESPONSE, "Fetch"), (REQUEST, "Fetch"), (REQUEST, "Vote")]

    assert [rules.chosen(of, Header(name, 1)) for of, name in sent] == [None] * len(sent)

    told = rules.report("r")
    assert told is not None
    assert told["tally"] == {"request Fetch": 2, "response Fetch": 1, "request Vote": 1}
    assert told["done"] == told["matched"] == len(sent)


def test_one_message_is_counted_in_its_direction_for_its_client() -> None:
    rules = Rules()
    rules.add("r", {"message": "Fetch", "of": REQUEST, "then": COUNT, "of_client": "c*"})
    for of, client in ((REQUEST, "c1"), (RESPONSE, "c1"), (REQUEST, "b1")):
        rules.chosen(of, Header("Fetch", 1, client))

    told = rules.report("r")
    assert told is not None
    assert told["tally"] == {"request Fetch": 1}


def test_a_census_does_not_keep_other_rules_from_their_messages() -> None:
    rules = Rules()
    rules.add("census", {"message": ANY, "of": REQUEST, "then": COUNT})
    rules.add("drops", {"message": "Fetch", "of": REQUEST, "then": "drop"})

    hit = rules.chosen(REQUEST, Header("Fetch", 1))
    assert hit is not None
    assert (hit.matching.name, hit.matching.rule) == ("drops", Rule("Fetch", REQUEST, "drop"))


def test_what_was_counted_is_read_from_the_evidence() -> None:
    evidence = f"so far n1 passed request Fetch 2; {census.words(COUNTS)}; the rule has ended, and nothing is held back"
    counting = nemesis("wire")
    assert isinstance(counting, Counting)

    assert counting.counted(evidence) == {
        ("n1", "request", "Fetch"): 20, ("n1", "response", "Fetch"): 19, ("n1", "request", "basic.ack"): 3,
    }  # fmt: skip


@pytest.mark.parametrize("evidence", ["", "no effect: nothing was done", "n1: 3 of 4 Fetch requests dropped"])
def test_another_evidence_counts_nothing(evidence: str) -> None:
    assert census.read(evidence) == {}
