"""Each rule reaches what `tests/unit/reach` says: under the settings of the scenario that shows it, and of its control.

`python tests/unit/test_reach.py` writes those files anew. What changes in them is to be read before it is believed:
whether this fault can do that, on this host, for so long.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

import pytest
from reach import Reach, reach
from test_rules import RULES, SYSTEMS, plan_of

from chaoskit.base import yaml

_SAME = "as shown"


@cache
def _written(name: str) -> dict[str, dict[str, Reach | str]]:
    return yaml.load(_path(name).read_text())


def _path(name: str) -> Path:
    return Path(__file__).parent / f"reach/{name}.yaml"


def _reached(identity: str) -> dict[str, Reach | str]:
    _, rule = RULES[identity]
    shown, control = (reach(rule, plan_of(spec).declared) for spec in (rule.shown, rule.control))
    return {"shown": shown, "control": _SAME if control == shown else control}


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
