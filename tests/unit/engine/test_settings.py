"""A declared setting is of the type of its default, or refused by its key before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.scenario.plan import read_plan


def _plan(topic: dict[str, Any], broker: dict[str, Any] | None = None) -> object:
    cluster = {"system": "kafka", "hosts": 3, "topic": topic, "config": broker or {}}
    return read_plan({"name": "s", "cluster": cluster, "workload": {"kind": "log", "duration": "5s"}}, "s.yaml")


@pytest.mark.parametrize("value", [2, "2"])
def test_a_number_may_be_written_as_text(value: int | str) -> None:
    _plan({"min.insync.replicas": value})


def test_what_is_no_number_or_no_boolean_is_named_with_all_others() -> None:
    with pytest.raises(BadInput) as refused:
        _plan({"min.insync.replicas": "two", "retention.ms": "5m"}, {"unclean.leader.election.enable": "maybe"})

    assert sorted(str(refused.value).splitlines()) == [
        "s.yaml: cluster.config.unclean.leader.election.enable: 'maybe' is not true or false",
        "s.yaml: cluster.topic.min.insync.replicas: 'two' is not a whole number, without a unit",
        "s.yaml: cluster.topic.retention.ms: '5m' is not a whole number, without a unit",
    ]
