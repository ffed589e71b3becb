"""Messages that taps count, and the figures of a census."""

from __future__ import annotations

from chaoskit.contract.faults.exploring import Exploring
from chaoskit.contract.installed import nemesis
from chaoskit.contract.systems.wire import Header
from nemeses.wire.aims import figures_of
from nemeses.wire.rules import ANY, COUNT, REQUEST, RESPONSE, TapRule, TapRules

COUNTS = {"n1": {"request Fetch": 20, "response Fetch": 19, "request basic.ack": 3}, "n2": {}}


def test_all_messages_of_both_directions_are_counted_and_pass() -> None:
    rules = TapRules()
    rules.add("r", {"message": ANY, "of": REQUEST, "then": COUNT})
    sent = [(REQUEST, "Fetch"), (RESPONSE, "Fetch"), (REQUEST, "Fetch"), (REQUEST, "Vote")]

    assert [rules.chosen(of, Header(name, 1)) for of, name in sent] == [None] * len(sent)

    report = rules.report("r")
    assert report is not None
    assert report["tally"] == {"request Fetch": 2, "response Fetch": 1, "request Vote": 1}
    assert report["done"] == report["matched"] == len(sent)


def test_one_message_is_counted_in_its_direction_for_its_client() -> None:
    rules = TapRules()
    rules.add("r", {"message": "Fetch", "of": REQUEST, "then": COUNT, "of_client": "c*"})
    for of, client in ((REQUEST, "c1"), (RESPONSE, "c1"), (REQUEST, "b1")):
        rules.chosen(of, Header("Fetch", 1, client))

    report = rules.report("r")
    assert report is not None
    assert report["tally"] == {"request Fetch": 1}


def test_a_census_does_not_keep_other_rules_from_their_messages() -> None:
    rules = TapRules()
    rules.add("census", {"message": ANY, "of": REQUEST, "then": COUNT})
    rules.add("drops", {"message": "Fetch", "of": REQUEST, "then": "drop"})

    hit = rules.chosen(REQUEST, Header("Fetch", 1))
    assert hit is not None
    assert (hit.matching.name, hit.matching.rule) == ("drops", TapRule("Fetch", REQUEST, "drop"))


def test_figures_tell_what_was_counted() -> None:
    exploring = nemesis("wire")
    assert isinstance(exploring, Exploring)

    assert exploring.passed({host: figures_of(tally) for host, tally in COUNTS.items()}) == {
        ("n1", "request", "Fetch"): 20, ("n1", "response", "Fetch"): 19, ("n1", "request", "basic.ack"): 3,
    }  # fmt: skip
    assert exploring.passed({"n1": {"matched": 4, "done": 3}}) == {}, "another rule counts nothing"
