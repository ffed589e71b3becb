"""The JSON Schema of scenarios takes every ready-made one, and refuses what an editor should mark."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from chaoskit.base import yaml
from chaoskit.scenario.files import ready_made
from chaoskit.scenario.schema import scenario_schema

SHIPPED = Path(__file__).parents[3] / "scenarios" / "schema.json"
LINE = "# yaml-language-server: $schema=../schema.json"


@cache
def validator() -> Any:
    return fastjsonschema.compile(scenario_schema())


def test_the_shipped_schema_is_what_is_installed() -> None:
    """Write it again with `chaoskit schema --out scenarios/schema.json`."""
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == scenario_schema()


@pytest.mark.parametrize("name", ready_made())
def test_a_ready_made_scenario_follows_the_schema_and_names_it(name: str) -> None:
    text = ready_made()[name].read_text(encoding="utf-8")

    assert text.splitlines()[0] == LINE
    validator()(yaml.load(text))


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ({"cluster": {"system": "kafka", "topik": {}}}, "data.cluster"),
        ({"cluster": {"system": "kafca"}}, "data.cluster.system"),
        ({"workload": {"kind": "log", "duration": "20 parsecs!"}}, "data.workload.duration"),
        ({"workload": {"kind": "log", "acks": 1}}, "data.workload"),
        ({"faults": [{"inject": "kil", "at": "1s"}]}, "data.faults[0].inject"),
        ({"faults": [{"inject": "kill", "at": "1s", "fro": "2s"}]}, "data.faults[0]"),
        ({"faults": [{"at": "1s"}]}, "data.faults[0]"),
        ({"expect": {"losst": "none"}}, "data.expect"),
        ({"clusters": {}}, "data"),
        ({"variants": {"a": {"faults": [{"inject": "kil"}]}}}, "data.variants.a.faults[0].inject"),
    ],
)
def test_what_is_wrong_is_marked(content: Any, where: str) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException) as refused:
        validator()(content)
    assert str(refused.value).startswith(f"{where} ")
