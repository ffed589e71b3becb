"""Each rule reaches what `tests/unit/reach` says: under the settings of the scenario that shows it, of its control, and
of each ready-made scenario under which it reaches something else.

`python tests/unit/test_reach.py` writes those files anew. What changes in them is to be read before it is believed:
whether this fault can do that, on this host, for so long.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

import pytest
from planned import RULES, SYSTEMS, plan_of
from reach import Reach, reach
from shipped import variants

from chaoskit.base import yaml
from chaoskit.contract.guarantees.guarantee import Rule
from chaoskit.contract.guarantees.mechanism import Mechanism

_SAME = "as shown"


@cache
def _written(name: str) -> dict[str, dict[str, Reach | str]]:
    written: dict[str, dict[str, Reach | str]] = yaml.load(_path(name).read_text())
    return written


def _path(name: str) -> Path:
    return Path(__file__).parent / f"reach/{name}.yaml"


def _reached(identity: str) -> dict[str, Reach | str]:
    _, rule = RULES[identity]
    reached: dict[str, Reach | str] = {"shown": reach(rule, plan_of(rule.shown).declared)}
    control = reach(rule, plan_of(rule.control).declared)
    reached["control"] = _SAME if control == reached["shown"] else control
    for spec in _others(rule):
        elsewhere = reach(rule, plan_of(spec).declared)
        if elsewhere not in reached.values():
            reached[spec] = elsewhere
    return reached


def _others(rule: Rule) -> list[str]:
    """Return a scenario for each further set of parameters that a rule's mechanisms have somewhere."""
    name = plan_of(rule.shown).scenario.cluster.system
    specs = [spec for spec in variants() if plan_of(spec).scenario.cluster.system == name]
    spec_of: dict[tuple[Mechanism, ...], str] = {(): ""}
    for spec in (rule.shown, rule.control, *specs):
        mechanisms = rule.mechanisms(plan_of(spec).declared)
        spec_of.setdefault(tuple(replace(mechanism, why="") for mechanism in mechanisms), spec)
    return [spec for spec in spec_of.values() if spec not in ("", rule.shown, rule.control)]


@pytest.mark.parametrize("identity", RULES)
def test_a_rule_reaches_what_is_written(identity: str) -> None:
    name, _ = RULES[identity]

    assert _reached(identity) == _written(name)[identity]


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_written_is_of_rules_that_there_are(name: str) -> None:
    assert set(_written(name)) == {identity for identity, (system, _) in RULES.items() if system == name}


if __name__ == "__main__":
    for system_name in SYSTEMS:
        of_system = {identity: _reached(identity) for identity, (name, _) in RULES.items() if name == system_name}
        _path(system_name).write_text(yaml.dump(of_system))
