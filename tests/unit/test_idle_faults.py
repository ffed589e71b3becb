"""No rule explains anything by a fault that did nothing to a message, under the settings of the scenario that shows it:
because it is idle, hit a stranger, or was over before.

Rules that follow from a setting alone need no fault and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import guaranteed
import pytest
from guaranteed import SECOND, effect
from planned import RULES, plan_of, planned_effects

from chaoskit.contract.guarantees.guarantee import Effect, Rule
from chaoskit.contract.guarantees.mechanism import Choice

IDLE = {
    "a pause of a bystander": effect("client-pause", "consumer-7", start_s=10, healed_s=12),
    "a long pause of a bystander": effect("client-pause", "producer-7", start_s=10, healed_s=25),
    "a crash of a bystander": effect("client-crash", "consumer-7", start_s=10, healed_s=12),
    "messages that are counted": effect("wire", "n1", start_s=10, healed_s=12, message="*", then="count"),
    "packets 1 ms late": effect("packet-delay", "n1", start_s=10, healed_s=12, delay="1ms"),
    "a snapshot": effect("snapshot", "n1", start_s=10, healed_s=12),
}


def _of_faults(rule: Rule) -> bool:
    """Whether a rule explains something only where something happened, under the settings that show it."""
    mechanisms = rule.mechanisms(plan_of(rule.shown).declared)
    return not any(isinstance(mechanism, Choice) or _by_itself(rule) for mechanism in mechanisms)


def _by_itself(rule: Rule) -> bool:
    return bool(guaranteed.applies(rule, plan_of(rule.shown).declared, []))


@pytest.mark.parametrize("identity", [name for name, (_, rule) in RULES.items() if _of_faults(rule)])
@pytest.mark.parametrize("idle", IDLE.values(), ids=IDLE.keys())
def test_an_idle_fault_explains_nothing(identity: str, idle: Effect) -> None:
    _, rule = RULES[identity]

    assert not guaranteed.applies(rule, plan_of(rule.shown).declared, [idle])


STRANGERS = ("n987", "consumer-987")
"""A host and a client that no run has."""

_LONG_AGO_NS = 10_000 * SECOND


def _elsewhere(fault: Effect) -> Effect:
    messages = fault.messages and replace(fault.messages, client=STRANGERS[1])
    return replace(
        fault, targets=STRANGERS[:1] if fault.on_hosts else STRANGERS[1:], peers=("n988",), messages=messages
    )


def _before(fault: Effect) -> Effect:
    start_ns = fault.start_ns - _LONG_AGO_NS
    return replace(fault, start_ns=start_ns, healed_ns=start_ns + SECOND, done_ns=start_ns + SECOND)


@pytest.mark.parametrize("identity", [name for name, (_, rule) in RULES.items() if _of_faults(rule)])
@pytest.mark.parametrize("changed", [_elsewhere, _before], ids=["elsewhere", "before"])
def test_what_shows_a_rule_shows_nothing_elsewhere_or_before(
    identity: str, changed: Callable[[Effect], Effect]
) -> None:
    _, rule = RULES[identity]
    plan = plan_of(rule.shown)
    effects = planned_effects(plan)

    assert guaranteed.applies(rule, plan.declared, effects, counted=True)
    assert not guaranteed.applies(rule, plan.declared, [changed(fault) for fault in effects])
