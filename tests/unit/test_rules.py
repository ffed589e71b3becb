"""Rules and scenarios belong together: every rule is shown and has a control, every expected loss has its rule."""

from __future__ import annotations

import guaranteed
import pytest
from planned import RULES, SYSTEMS, plan_of, planned_effects
from shipped import variants

from chaoskit.contract.guarantees.guarantee import Allowance, Rule
from chaoskit.contract.installed import anomalies, system
from chaoskit.scenario.plan import Plan

MEANT_TO_FAIL = {"kafka/mix:weak", "kafka/power-after-format"}
"""What the user is to see in these is an invalid run."""


def _allowed(plan: Plan) -> dict[str, Allowance]:
    """Return what is conceivable if every fault hits as many hosts as it may."""
    known = [rule.id for rule in plan.system.guarantees.rules if rule.known and rule.id not in plan.scenario.accept]
    return guaranteed.table(
        plan.scenario.cluster.system, plan.declared, planned_effects(plan), refused=known, counted=True
    )


@pytest.mark.parametrize("identity", [name for name, (_, rule) in RULES.items() if rule.alone])
def test_a_rule_that_needs_luck_applies_where_it_may_be_met(identity: str) -> None:
    _, rule = RULES[identity]

    assert (identity in plan_of(rule.shown).scenario.accept) == bool(rule.known)
    assert _allowed(plan_of(rule.shown))[rule.allows[0]].rule == identity
    assert _allowed(plan_of(rule.control))[rule.allows[0]].rule != identity


@pytest.mark.parametrize("identity", [name for name, (_, rule) in RULES.items() if not rule.alone])
def test_a_rule_is_shown_by_a_scenario_that_its_control_does_not_show(identity: str) -> None:
    _, rule = RULES[identity]
    shown, control = plan_of(rule.shown).scenario.expect, plan_of(rule.control).scenario.expect
    allowed = _allowed(plan_of(rule.shown))
    proved = [
        name
        for name, expected in shown.items()
        if expects_some(expected) and name in _follows(rule) and control.get(name) == "none"
    ]

    assert proved, f"{rule.shown} expects some of {sorted(_follows(rule))}, and {rule.control} none of it"
    assert {allowed[name].rule for name in proved if name in rule.allows} <= {rule.id}
    assert all(allowed[name].allowed for name in proved)
    assert rule.shown.partition(":")[0] == rule.control.partition(":")[0], "a pair stands in one file"


def expects_some(expected: object) -> bool:
    """Return whether an anomaly is expected: `some`, or an exact number of it."""
    return expected == "some" or (isinstance(expected, int) and expected > 0)


def _follows(rule: Rule) -> set[str]:
    return {*rule.allows, *(name for root in rule.allows for name in anomalies()[root].implies)}


@pytest.mark.parametrize("identity", RULES)
def test_a_rule_says_where_it_is_from_and_names_what_there_is(identity: str) -> None:
    name, rule = RULES[identity]

    assert rule.source
    assert set(rule.allows) <= set(anomalies())
    assert identity.partition(".")[0] in (name, "bookkeeper"), "what bookies lose is BookKeeper's, also in Pulsar"


@pytest.mark.parametrize("spec", variants())
def test_what_a_scenario_expects_is_what_the_rules_say(spec: str) -> None:
    plan = plan_of(spec)
    allowed = _allowed(plan)
    measured = {anomaly.name for anomaly in anomalies().values() if anomaly.measured}
    measured |= {anomaly.name for anomaly in anomalies().values() if anomaly.of_application}  # its defect is no rule
    some = [name for name, expected in plan.scenario.expect.items() if expects_some(expected) and name not in measured]

    assert all(allowed[name].rule for name in some), "an expected loss needs a rule that allows it"
    assert spec not in MEANT_TO_FAIL or "some" not in plan.scenario.expect.values()


@pytest.mark.parametrize("spec", variants())
def test_what_may_happen_and_what_is_promised_is_said_in_words(spec: str) -> None:
    plan = plan_of(spec)
    guarantees = plan.system.guarantees
    reasons = [mechanism.why for rule in guarantees.rules for mechanism in rule.mechanisms(plan.declared)]

    for words in (*reasons, *guarantees.promises(plan.declared).values()):
        assert isinstance(words, str)
        assert words.strip()
        assert "None" not in words


def test_rules_have_ids_of_their_own() -> None:
    by_system = [[rule.id for rule in system(name, "system").guarantees.rules] for name in SYSTEMS]

    assert all(len(set(ids)) == len(ids) for ids in by_system)
