"""Mistakes in what faults wait for are named, with their remedies."""

from __future__ import annotations

from typing import Any

import pytest
from samples import content, plan
from test_triggers import CUT, SLOW

from chaoskit.base.errors import BadInput
from chaoskit.scenario.plan import read_plan


def _refused(*faults: dict[str, Any]) -> list[str]:
    with pytest.raises(BadInput) as refused:
        read_plan(content(faults=list(faults)), "bad.yaml")
    return [line.removeprefix("bad.yaml: ") for line in str(refused.value).splitlines()]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"after": {"fault": "slwo"}}, "faults.1.after.fault: no fault has the id 'slwo'; did you mean \"slow\"?"),
        ({"after": {"fault": "slow", "is": "over"}}, "faults.1.after.is: "),
        ({"after": {"fault": "slow"}, "at": "3s"}, "faults.1: specify either at, after or when, or from, to and every"),
        ({"when": {}}, "faults.1.when: specify one of out_of_sync, in_sync, leader, acked, lag and log"),
        ({"when": {"acked": 1, "lag": 1}}, "faults.1.when: specify one of out_of_sync, "),
        ({"when": {"acked": 1, "on": "n1"}}, "faults.1.when: on is for log only"),
        ({"when": {"leads": "n1"}}, 'faults.1.when.leads: unknown key; did you mean "leader"? Known: acked, in_sync, '),
        ({"after": {"fault": "slow", "if": "healed"}}, "faults.1.after.if: unknown key; "),
        ({"when": {"log": "("}}, "faults.1.when: log: "),
        ({"when": {"leader": "n9"}}, "faults.1.when.leader: there is no host 'n9'; "),
        ({"when": {"out_of_sync": "n9"}}, "faults.1.when.out_of_sync: there is no host 'n9'; "),
        ({"when": {"in_sync": "n9"}}, "faults.1.when.in_sync: there is no host 'n9'; "),
        ({"when": {"log": "x", "on": "n9"}}, "faults.1.when.on: there is no host 'n9'; "),
        ({"at": "2s", "id": "slow"}, "faults.1.id: 'slow' is the id of faults.0, too; choose another"),
        ({"at": "2s", "within": "3s"}, 'faults.1.within: is for after and when only; '),
        ({"at": "2s", "expect": {"consequence": "much"}}, "faults.1.expect.consequence: "),
        ({"id": "cut", "after": {"fault": "cut"}}, "faults.1.after.fault: 'cut' waits for this fault, which "),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_remedy(keys: dict[str, Any], line: str) -> None:
    lines = _refused(SLOW, {**CUT, **keys})

    assert any(printed.startswith(line) for printed in lines), lines


@pytest.mark.parametrize("expected", ["none", "new-owner", "unsubscribed"])
def test_nobody_can_wait_for_a_consequence_that_is_only_known_after_the_run(expected: str) -> None:
    spec = {**SLOW, "expect": {"consequence": expected}}

    (line,) = _refused(spec, {**CUT, "after": {"fault": "slow", "is": "consequence"}})

    assert line == (
        f"faults.1.after.is: whether 'slow' had the consequence that it expects, {expected}, is only known after the "
        "run; write `is: effective`"
    )
    assert len(plan([spec, {**CUT, "after": {"fault": "slow", "is": "effective"}}]).faults) == 2


def test_faults_that_wait_for_each_other_are_refused() -> None:
    one = {**CUT, "id": "one", "after": {"fault": "other"}}
    other = {**CUT, "id": "other", "after": {"fault": "one"}}

    assert len(_refused(one, other)) == 2


def test_a_series_has_no_id_and_ends_with_the_load() -> None:
    series = {"from": "8s", "to": "60s", "every": "5s", "inject": "kill", "on": "one"}

    assert "id is for single faults only (at, after or when)" in _refused({**series, "id": "kills"})[0]
    (line,) = _refused(series)
    assert line == "faults.0.to: 1m is after the end of the load, 20s; set `to: 20s`, or workload.duration: 1m"
