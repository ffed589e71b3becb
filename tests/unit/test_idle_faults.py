"""No rule explains anything by a fault that did nothing to a message, under the settings of the scenario that shows it.

Rules that follow from a setting alone need no fault and are left out.
"""

from __future__ import annotations

import guaranteed
import pytest
from guaranteed import effect
from test_rules import RULES, _plan

from chaoskit.contract.guarantee import Effect, Rule
from chaoskit.contract.mechanism import Choice

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
    mechanisms = rule.mechanisms(_plan(rule.shown).declared)
    return not any(isinstance(mechanism, Choice) or _by_itself(rule) for mechanism in mechanisms)


def _by_itself(rule: Rule) -> bool:
    return bool(guaranteed.applies(rule, _plan(rule.shown).declared, []))


@pytest.mark.parametrize("identity", [name for name, (_, rule) in RULES.items() if _of_faults(rule)])
@pytest.mark.parametrize("idle", IDLE.values(), ids=IDLE.keys())
def test_an_idle_fault_explains_nothing(identity: str, idle: Effect) -> None:
    _, rule = RULES[identity]

    assert not guaranteed.applies(rule, _plan(rule.shown).declared, [idle])
