"""A zone stands for its hosts, wherever hosts are named."""

from __future__ import annotations

from typing import Any

import pytest
from samples import content, plan

from chaoskit.base.errors import BadInput
from chaoskit.scenario.plan import Plan, read_plan

ZONES = {"a": ["n1", "n2"], "b": ["n3"]}


def _plan(*faults: dict[str, Any], zones: dict[str, list[str]] | None = None) -> Plan:
    given = ZONES if zones is None else zones
    cluster = {"system": "kafka", "hosts": 4, "zones": given}
    return plan([{"at": "1s", **fault} for fault in faults], cluster=cluster)


def _refusal(*faults: dict[str, Any], zones: dict[str, list[str]] | None = None) -> str:
    with pytest.raises(BadInput) as refused:
        _plan(*faults, zones=zones)
    return str(refused.value).removeprefix("test.yaml: ")


@pytest.mark.parametrize(
    ("on", "targets"),
    [
        ("zone:a", ("n1", "n2")),
        (["zone:b", "n1"], ("n3", "n1")),
        (["zone:a", "zone:b"], ("n1", "n2", "n3")),
        (["zone:a", "leader"], ("n1", "n2", "leader")),
    ],
)
def test_a_fault_on_a_zone_hits_its_hosts(on: Any, targets: tuple[str, ...]) -> None:
    assert _plan({"inject": "kill", "on": on}).faults[0].on == targets


def test_zones_in_parameters_become_hosts() -> None:
    peers, groups = _plan(
        {"inject": "packet-loss", "on": "zone:a", "peers": "zone:b"},
        {"inject": "partition", "groups": [["zone:a"], ["zone:b", "n4"]]},
    ).faults

    assert peers.parameters["peers"] == ["n3"]
    assert groups.parameters["groups"] == [["n1", "n2"], ["n3", "n4"]]


def test_a_zone_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert _refusal({"inject": "kill", "on": "zone:c"}).startswith("faults.0.on: there is no zone 'c'; ")
    assert "there is no zone 'c'" in _refusal({"inject": "packet-loss", "peers": ["zone:c"]})
    assert "write cluster.zones, such as" in _refusal({"inject": "kill", "on": "zone:a"}, zones={})


def test_clients_and_roles_are_in_no_zone() -> None:
    assert "there is no client 'zone:a'" in _refusal({"inject": "client-crash", "on": "zone:a"})
    assert "faults.0.role: there is no zone 'a'" in _refusal({"inject": "zombie", "role": "zone:a"})


@pytest.mark.parametrize(
    ("zones", "refusal"),
    [
        ({"a": ["n1", "n5"]}, "cluster.zones.a: there is no host 'n5'"),
        ({"a": ["n1"], "b": ["n2", "n1"]}, "cluster.zones.b: n1 is in zone a already"),
    ],
)
def test_a_zone_has_hosts_of_its_own(zones: dict[str, list[str]], refusal: str) -> None:
    assert _refusal(zones=zones).startswith(refusal)


def test_a_zone_has_at_least_one_host() -> None:
    with pytest.raises(BadInput, match=r"cluster\.zones\.a: is empty; write at least one"):
        read_plan(content(cluster={"system": "kafka", "zones": {"a": []}}), "bad.yaml")


def test_kafka_is_told_the_zones_and_other_systems_need_not_know() -> None:
    assert _plan().system_options.zones == ZONES
    assert plan(cluster={"system": "pulsar", "zones": ZONES}).resolved()["cluster"]["zones"] == ZONES
