"""Settings of Java programs: which are true, how they are written, which layer wins."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.contract.guarantees.setting import is_true
from clusters.common.properties import properties, setting


@pytest.mark.parametrize(
    ("value", "true"),
    [(True, True), ("true", True), ("True", True), ("yes", True), (False, False), ("no", False), (None, False)],
)
def test_a_setting_is_true_as_yaml_or_as_text(value: Any, true: bool) -> None:
    assert is_true(value) == true


def test_later_layers_win_and_null_leaves_what_is_below() -> None:
    written = properties({"a": 1, "b": True}, {"a": None, "b": False, "c": 0.5}, {"c": "x"})

    assert written == "a=1\nb=false\nc=x\n"


@pytest.mark.parametrize(("given", "value"), [({}, 7), ({"a": None}, 7), ({"a": 0}, 0)])
def test_a_setting_that_is_null_is_the_default(given: dict[str, Any], value: Any) -> None:
    assert setting(given, "a", 7) == value
