"""Plans for systems that run already: what is refused before anybody connects."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.scenario.plan import Plan, read_plan

_THERE = {"bootstrap.servers": "k1:9092"}
_DRIVERS = {"drivers": {"d1": {"address": "127.0.0.1"}}}
_COMMANDS = {"do": "true", "undo": "true", "verify": "true", "verify_undone": "true"}


def _plan(
    attach: dict[str, Any] = _THERE, workload: dict[str, Any] | None = None, faults: Any = (), **cluster: Any
) -> Plan:
    content = {
        "name": "staging",
        "cluster": {"system": "kafka", "attach": attach, **cluster},
        "workload": {"kind": "log", **(workload or {})},
        "faults": list(faults),
    }
    return read_plan(content, "staging.yaml")


def test_a_resolved_scenario_can_be_run_again() -> None:
    plan = _plan(faults=[{"at": "1s", "inject": "command", "on": "leader", **_COMMANDS}], hosts=5)
    again = read_plan(plan.resolved(), "scenario.yaml")

    assert again.resolved() == plan.resolved()
    assert again.host_names == ["n1", "n2", "n3", "n4", "n5"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"attach": {"bootstrap.server": "k1:9092"}}, r"cluster\.attach\.bootstrap\.servers: is missing"),
        ({"attach": {**_THERE, "security.protocol": "NONE"}}, r"cluster\.attach: rejected by librdkafka"),
        ({"attach": {**_THERE, "sasl.password": "x"}}, r"cluster\.attach\.sasl\.password: a scenario is stored with"),
        ({"provider": "attached"}, r"cluster: attach deploys nothing; remove provider and disk"),
        ({"max_rate": 100, "workload": {"rate": 101}}, r"workload\.rate: 101/s is above cluster\.max_rate, 100/s"),
        ({"max_rate": 100, "workload": {"rate": "max"}}, r"workload\.rate: max is above cluster\.max_rate, 100/s"),
        (
            {"max_bytes": "10KiB", "workload": {"rate": 103}},
            r"workload\.rate: 10,300/s is above cluster\.max_bytes, 10,240/s",
        ),
        ({"workload": {"drivers": ["d1"]}}, r"workload\.drivers\.0: the inventory has no driver 'd1'; add it there"),
        (
            {"inventory": _DRIVERS, "workload": {"drivers": ["d2"]}},
            r"workload\.drivers\.0: the inventory has no driver 'd2'; .*d1",
        ),
        (
            {
                "inventory": _DRIVERS,
                "workload": {"drivers": ["d1"]},
                "faults": [{"at": "1s", "inject": "client-crash", "on": "producer-0"}],
            },
            r"faults\.0\.inject: client-crash hits clients of this machine",
        ),
        ({"inventory": {"defaults": {}}}, r"cluster: inventory: is empty; add hosts or drivers"),
        ({"faults": [{"at": "1s", "inject": "kill"}]}, r"kill works on hosts, and those of an existing cluster"),
        (
            {"faults": [{"at": "1s", "inject": "command", "on": "controller", **_COMMANDS}]},
            r"faults\.0\.on: there is no host or role 'controller'",
        ),
        ({"faults": [{"at": "1s", "inject": "command"}]}, r"faults\.0\.(do|undo|verify)"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _plan(**given)


def test_a_quota_needs_a_rate_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.log.workload.LogWorkload.traits", lambda *_: ())

    with pytest.raises(BadInput, match=r"cluster\.max_rate: this kind of workload has no message rate"):
        _plan(max_rate=100)


def test_an_inventory_may_name_drivers_only() -> None:
    given = {"defaults": {"user": "me", "data": "/var"}, **_DRIVERS}
    plan = _plan(inventory=given, workload={"drivers": ["d1"]}, hosts=5)

    assert plan.host_names == ["n1", "n2", "n3", "n4", "n5"]
    assert plan.provider_options.drivers["d1"].user == "me"
    assert read_plan(plan.resolved(), "scenario.yaml").resolved() == plan.resolved()


def test_drivers_need_a_system_that_they_can_reach() -> None:
    content = {"name": "x", "cluster": {"system": "kafka"}, "workload": {"kind": "log", "drivers": ["d1"]}}

    with pytest.raises(BadInput, match=r"workload\.drivers: other machines can only reach an existing cluster"):
        read_plan(content, "x.yaml")


def test_a_system_that_cannot_be_attached_to_says_so() -> None:
    content = {"name": "x", "cluster": {"system": "pulsar", "attach": {"url": "x"}}, "workload": {"kind": "log"}}

    with pytest.raises(BadInput, match=r"cluster\.attach: attaching to an existing pulsar cluster is not implemented"):
        read_plan(content, "x.yaml")
