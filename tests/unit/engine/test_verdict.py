"""The verdict: never valid on doubt, never unknown on proof."""

from __future__ import annotations

from typing import Any

import pytest
from samples import verdict

from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID, Found, allow, decide, derive

LOST = {"lost": Found(3, False, "acks=all")}
ALLOWED = {"lost": Found(3, True, "acks=1")}
FAULT = {"kind": "kill", "targets": ["n1"], "effective": True, "healed": True, "evidence": "gone"}
CALM: dict[str, Any] = {"anomalies": {}, "recovered": True, "audit_complete": True, "acked": 9, "faults": (FAULT,)}


def _decide(**changes: Any) -> tuple[str, tuple[str, ...]]:
    given = {**CALM, **changes}
    return decide(given.pop("anomalies"), **given)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (VALID, ())),
        ({"faults": ()}, (VALID, ())),
        ({"anomalies": ALLOWED}, (VALID, ())),
        ({"anomalies": {"unseen": Found(0, True, "", doubt="not read")}}, (VALID, ())),
        ({"anomalies": LOST}, (INVALID, ("3 lost: not allowed (acks=all)",))),
        ({"recovered": False}, (INVALID, ("the cluster did not recover within the bound after healing",))),
        ({"recovered": None}, (UNKNOWN, ("the run ended before the cluster's recovery was observed",))),
        (
            {"behind": ["log-0/1"]},
            (INVALID, ("the group received nothing new of log-0/1 within the bound after healing",)),
        ),
        ({"audit_complete": False}, (UNKNOWN, ("the final read did not reach the end of every partition",))),
        ({"acked": 0}, (UNKNOWN, ("nothing was acknowledged during the load",))),
        (
            {"acked": 0, "why_not_acked": "NOT_ENOUGH_REPLICAS"},
            (UNKNOWN, ("nothing was acknowledged during the load; most sends ended with: NOT_ENOUGH_REPLICAS",)),
        ),
        ({"problems": ("client consumer-0 died",)}, (UNKNOWN, ("client consumer-0 died",))),
        (
            {"anomalies": {"unseen": Found(2, False, "none", doubt="not read")}},
            (INVALID, ("2 unseen: not allowed (none)",)),
        ),
        ({"anomalies": {"unseen": Found(2, True, "", doubt="not read")}}, (UNKNOWN, ("2 unseen: not read",))),
        ({"faults": (FAULT, {**FAULT, "effective": False})}, (UNKNOWN, ("kill had no effect: gone",))),
        ({"faults": ({**FAULT, "healed": False},)}, (UNKNOWN, ("kill was not confirmed healed",))),
        (
            {"faults": ({**FAULT, "effective": False, "healed": False},)},
            (UNKNOWN, ("kill had no effect: gone",)),
        ),
    ],
)
def test_each_thing_that_can_be_wrong_has_its_verdict(
    changes: dict[str, Any], expected: tuple[str, tuple[str, ...]]
) -> None:
    assert _decide(**changes) == expected


@pytest.mark.parametrize(
    "doubt",
    [
        {"recovered": None},
        {"audit_complete": False},
        {"acked": 0},
        {"problems": ("x",)},
        {"faults": ({**FAULT, "effective": False},)},
    ],
)
def test_a_proof_outweighs_every_doubt(doubt: dict[str, Any]) -> None:
    assert _decide(**doubt)[0] == UNKNOWN
    verdict, reasons = _decide(**doubt, anomalies=LOST)
    assert (verdict, reasons[0]) == (INVALID, "3 lost: not allowed (acks=all)")


def test_what_was_expected_and_not_found_is_in_doubt_with_everything_else() -> None:
    absent = {"lost": Found(0, False, "expected lost: some")}
    untold = "no lost was found (expected lost: some)"
    synced = "power-cut: somebody synced all file systems at 8.0 s: the cut of n1 had little left to lose"

    assert _decide(anomalies=absent) == (INVALID, (untold,))
    assert _decide(anomalies=absent, problems=(synced,)) == (UNKNOWN, (untold, synced))
    assert _decide(anomalies={**absent, "phantom": Found(1, False, "x")}, problems=(synced,)) == (
        INVALID,
        ("1 phantom: not allowed (x)", untold, synced),
    )


def test_every_reason_is_told() -> None:
    both = {**LOST, "reordered": Found(1, False, "idempotence"), "duplicate": Found(5, True, "retries")}

    assert _decide(anomalies=both, recovered=False)[1] == (
        "the cluster did not recover within the bound after healing",
        "3 lost: not allowed (acks=all)",
        "1 reordered: not allowed (idempotence)",
    )
    assert len(_decide(recovered=None, audit_complete=False, acked=0, problems=("x", "y"))[1]) == 5


def test_a_reason_that_several_anomalies_have_is_told_once() -> None:
    anomalies = {
        **LOST,
        "late": Found(7, False, "acks=all"),
        "unseen": Found(1, False, "groups"),
        "phantom": Found(2, True, "x"),
    }

    assert _decide(anomalies=anomalies)[1] == (
        "3 lost, 7 late: not allowed (acks=all)",
        "1 unseen: not allowed (groups)",
    )


DERIVED = {"lost": Allowance(False, "acks=all", "nothing"), "duplicate": Allowance(True, "retries", "idempotence")}


@pytest.mark.parametrize(
    ("expected", "count", "met"),
    [
        ("none", 0, True), ("none", 1, False),
        ("some", 0, False), ("some", 1, True), ("some", 99, True), ("any", 0, True), ("any", 3, True),
        (0, 0, True), (0, 1, False), (3, 3, True), (3, 2, False), (3, 4, False),
    ],
)  # fmt: skip
def test_an_expectation_overrides_the_guarantees(expected: Any, count: int, met: bool) -> None:
    for anomaly, derived in DERIVED.items():
        assert allow(anomaly, count, derived, {anomaly: expected}).allowed == met


def test_without_an_expectation_the_guarantees_count() -> None:
    assert allow("lost", 5, DERIVED["lost"], {"duplicate": "none"}) == DERIVED["lost"]
    assert allow("duplicate", 5, DERIVED["duplicate"], {}) == DERIVED["duplicate"]


def test_what_no_rule_explains_breaks_the_promise() -> None:
    assert derive([(None, 3)], Allowance(False, "acks=all"), ()) == Allowance(False, "acks=all")
    assert derive([(None, 3)], None, ()) == Allowance(False, "no setting allows it")


def test_what_nobody_mentions_is_not_allowed() -> None:
    assert allow("torn", 1, None, {}) == Allowance(False, "no setting allows it")


def test_an_expectation_keeps_the_reason_and_the_remedy_of_the_guarantees() -> None:
    allowance = allow("duplicate", 0, DERIVED["duplicate"], {"duplicate": "some"})

    assert allowance == Allowance(False, "expected duplicate: some; retries", "idempotence")


def test_what_was_not_seen_is_no_proof_unless_it_was_expected_not_to_be() -> None:
    assert allow("unseen", 3, None, {}, doubt="not read").allowed
    assert not allow("unseen", 3, None, {"unseen": "none"}, doubt="not read").allowed


def test_a_control_that_finds_nothing_is_invalid() -> None:
    allowance = allow("lost", 0, DERIVED["lost"], {"lost": "some"})

    assert _decide(anomalies={"lost": Found(0, allowance.allowed, allowance.why)})[0] == INVALID


def test_verdict_json_has_its_fixed_keys() -> None:
    cause = {"rule": "kafka.acks-one", "what": "", "count": 3}
    anomaly = Found(3, True, "acks=1", "acks=all", (1.0, 2.0), ({"value": 5},), (cause,))

    written = verdict(anomalies={"lost": anomaly}, faults=(FAULT,)).as_json()

    fixed = {"run", "scenario", "seed", "verdict", "counts", "audit", "anomalies", "faults", "liveness", "availability"}
    assert fixed | {"latency"} <= set(written)
    assert written["anomalies"] == {
        "lost": {
            "count": 3,
            "allowed": True,
            "why": "acks=1",
            "remedy": "acks=all",
            "between_s": (1.0, 2.0),
            "explained": [cause],
            "examples": [{"value": 5}],
        }
    }
    assert written["faults"] == [FAULT]
