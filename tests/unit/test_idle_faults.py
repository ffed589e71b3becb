"""No rule explains anything by a fault that did nothing to a message, under the settings of the scenario that shows it:
because it is idle, hit a stranger, or was over before.

Rules that follow from a setting alone need no fault and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import guaranteed
import pytest
from guaranteed import SECOND, effect
from planned import RULES, plan_of, planned_effects

from chaoskit.contract.guarantees.guarantee import Effect, Rule
from chaoskit.contract.guarantees.mechanism import Choice
from chaoskit.model.place import Place

IDLE = {
    "a pause of a bystander": effect("client-pause", "consumer-7", start_s=10, healed_s=12),
    "a long pause of a bystander": effect("client-pause", "producer-7", start_s=10, healed_s=25),
    "a crash of a bystander": effect("client-crash", "consumer-7", start_s=10, healed_s=12),
    "messages that are counted": effect("wire", "n1", start_s=10, healed_s=12, message="*", then="count"),
    "packets 1 ms late": effect("packet-delay", "n1", start_s=10, healed_s=12, delay="1ms"),
    "a snapshot": effect("snapshot", "n1", start_s=10, healed_s=12),
}


@cache
def _of_faults() -> dict[str, Rule]:
    """Return the rules that explain something only where something happened, under the settings that show them."""
    rules = {name: rule for name, (_, rule) in RULES.items() if not _follows_from_a_setting(rule)}
    assert len(rules) > 50
    return rules


def _follows_from_a_setting(rule: Rule) -> bool:
    mechanisms = rule.mechanisms(plan_of(rule.shown).declared)
    return any(isinstance(mechanism, Choice) or _by_itself(rule) for mechanism in mechanisms)


def _by_itself(rule: Rule) -> bool:
    return bool(guaranteed.applies(rule, plan_of(rule.shown).declared, []))


@pytest.mark.parametrize("idle", IDLE.values(), ids=IDLE.keys())
def test_an_idle_fault_explains_nothing(idle: Effect) -> None:
    explaining = [
        name for name, rule in _of_faults().items() if guaranteed.applies(rule, plan_of(rule.shown).declared, [idle])
    ]

    assert explaining == []


STRANGERS = ("n987", "consumer-987")
"""A host and a client that no run has."""

_LONG_AGO_NS = 10_000 * SECOND


def _elsewhere(fault: Effect) -> Effect:
    messages = fault.messages and replace(fault.messages, client=STRANGERS[1])
    targets = STRANGERS[:1] if fault.on_hosts else STRANGERS[1:]
    elsewhere: Place = ("elsewhere", 0)
    deleted = frozenset((elsewhere, before) for _, before in fault.deleted)
    reset = frozenset((elsewhere, move) for _, move in fault.reset)
    return replace(fault, targets=targets, peers=("n988",), messages=messages, deleted=deleted, reset=reset)


def _before(fault: Effect) -> Effect:
    start_ns = fault.start_ns - _LONG_AGO_NS
    return replace(fault, start_ns=start_ns, healed_ns=start_ns + SECOND, done_ns=start_ns + SECOND)


def test_faults_that_show_a_rule_are_seen() -> None:
    blind = [name for name, rule in _of_faults().items() if not _applies(rule, planned_effects(plan_of(rule.shown)))]

    assert blind == []


@pytest.mark.parametrize("changed", [_elsewhere, _before], ids=["elsewhere", "before"])
def test_what_shows_a_rule_shows_nothing_elsewhere_or_before(changed: Callable[[Effect], Effect]) -> None:
    explaining = [
        name
        for name, rule in _of_faults().items()
        if guaranteed.applies(
            rule, plan_of(rule.shown).declared, [changed(fault) for fault in planned_effects(plan_of(rule.shown))]
        )
    ]

    assert explaining == []


def _applies(rule: Rule, effects: list[Effect]) -> bool:
    return bool(guaranteed.applies(rule, plan_of(rule.shown).declared, effects, counted=True))
