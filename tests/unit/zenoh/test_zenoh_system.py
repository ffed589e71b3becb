"""Zenoh's plug-in without a network: settings, configurations, promises, what is refused, rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import guaranteed
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.workloads.traits import Paced
from chaoskit.model.observations.feed import Promise
from chaoskit.scenario.plan import read_plan
from clusters.zenoh import package
from clusters.zenoh.configuration import built, client, connection_of, router
from clusters.zenoh.guarantees.promise import promise
from clusters.zenoh.guarantees.rules import RULES
from clusters.zenoh.settings import ZenohOptions
from clusters.zenoh.system import ZenohSystem

SECOND = 10**9
BLOCK = {"congestion": "block"}
CACHED = {"cache": 100}
RECOVERY = {"recovery": True}


def _content(cluster: dict[str, Any] | None = None, **workload: Any) -> dict[str, Any]:
    return {
        "name": "small",
        "cluster": {"system": "zenoh", "hosts": 2, **(cluster or {})},
        "workload": {"kind": "feed", "duration": "5s", **workload},
    }


@pytest.mark.parametrize(
    ("cluster", "hosts", "seats", "brokers"),
    [
        ({"hosts": 3}, 0, 3, 0),
        ({"hosts": 0, "seats": 2}, 0, 2, 0),
        ({"mode": "router"}, 2, 0, 2),
        ({"mode": "router", "hosts": 1, "seats": 3}, 1, 3, 1),
    ],
)
def test_hosts_are_for_routers_or_for_clients(cluster: dict[str, Any], hosts: int, seats: int, brokers: int) -> None:
    plan = read_plan(_content(cluster), "small.yaml")

    assert (plan.scenario.cluster.hosts, plan.scenario.cluster.seats) == (hosts, seats)
    assert plan.declared.brokers == brokers


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (_content({"mode": "router", "hosts": 0, "seats": 2}), "cluster.hosts: must be at least 1"),
        (_content({"mode": "mesh"}), "cluster.mode: "),
        (_content({"config": {"mode": "client"}}), "mode is set by chaoskit: set cluster.mode; remove it"),
        (_content({"config": {"listen/endpoints": "tcp/0.0.0.0:1"}}), "listen/endpoints is set by chaoskit"),
        (
            {**_content(), "faults": [{"at": "1s", "inject": "pause", "on": "router", "for": "1s"}]},
            "faults.0.on: there is no host or role 'router'",
        ),
        ({**_content(), "faults": [{"at": "1s", "inject": "kill", "on": "n1", "for": "1s"}]}, "cluster.mode: router"),
    ],
)
def test_a_network_that_cannot_be_is_refused(content: dict[str, Any], line: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_plan(content, "small.yaml")

    assert line in str(refused.value)


def test_a_release_that_is_not_installed_is_refused_before_a_run_and_not_where_one_is_judged() -> None:
    plan = read_plan(_content({"version": "0.1"}), "test.yaml")

    with pytest.raises(BadInput, match=r"cluster\.version: .* is installed; install 0\.1, or remove the key"):
        plan.system.check(plan.declared)


@pytest.mark.parametrize(
    ("cluster", "workload", "line"),
    [
        ({}, {"producer": {"congestion": "wait"}}, "workload.producer.congestion: "),
        ({}, {"producer": {"recovery": True}}, "workload.producer.recovery: there is no such setting; there are qos"),
        ({}, {"consumer": {"congestion": "block"}}, "workload.consumer.congestion: there is no such setting"),
        ({"config": {"transport/links": 1}}, {}, "cluster.config.transport/links: Zenoh does not take 1"),
        ({"config": {"transport/link/tx/keep_alive": "x"}}, {}, "cluster.config.transport/link/tx/keep_alive: "),
    ],
)
def test_settings_that_cannot_be_are_refused(cluster: dict[str, Any], workload: dict[str, Any], line: str) -> None:
    declared = read_plan(_content(cluster, **workload), "small.yaml").declared

    with pytest.raises(BadInput) as refused:
        ZenohSystem().check(declared)

    assert line in str(refused.value)


@pytest.mark.parametrize(
    ("link", "producer", "consumer", "delivery"),
    [
        ("tcp", BLOCK, {}, "exactly-once"),
        ("tcp", {}, {}, "at-most-once"),
        ("tcp", {**BLOCK, "qos": "best-effort"}, {}, "at-most-once"),
        ("udp", BLOCK, {}, "at-most-once"),
        ("tcp", CACHED, RECOVERY, "exactly-once"),
        ("udp", {**BLOCK, **CACHED}, RECOVERY, "at-most-once"),
        ("tcp", CACHED, {}, "at-most-once"),
        ("tcp", {}, RECOVERY, "at-most-once"),
    ],
)
def test_what_subscribers_are_promised(
    link: str, producer: dict[str, Any], consumer: dict[str, Any], delivery: str
) -> None:
    assert promise(link, producer, consumer) == Promise(delivery, lasting=False)


@pytest.mark.parametrize(("link", "asked", "replays"), [("tcp", 50, 50), ("tcp", 500, 100), ("udp", 50, 0)])
def test_what_late_subscribers_are_given(link: str, asked: int, replays: int) -> None:
    assert promise(link, CACHED, {"history": asked}).replays == replays


def test_peers_find_each_other_on_their_network() -> None:
    options = ZenohOptions(link="udp", lease="2s")  # type: ignore[arg-type]

    configuration = client(connection_of(options, ["127.0.0.1"], []), [])

    assert configuration["mode"] == "peer"
    assert configuration["listen"] == {"endpoints": ["udp/127.0.0.1:0"]}
    assert configuration["scouting"]["multicast"] == {"interface": "lo"}
    assert configuration["transport"]["link"]["tx"]["lease"] == 2000
    assert configuration["transport"]["shared_memory"] == {"enabled": False}


def test_clients_try_the_routers_in_order() -> None:
    connection = connection_of(ZenohOptions(mode="router"), [], ["10.0.0.1", "10.0.0.2"])

    configuration = client(connection, ["10.0.0.2", "10.0.0.1"])

    assert configuration["mode"] == "client"
    assert configuration["connect"]["endpoints"] == ["tcp/10.0.0.2:7447", "tcp/10.0.0.1:7447"]
    assert not configuration["scouting"]["multicast"]["enabled"]


def test_a_router_has_the_settings_of_the_scenario() -> None:
    path = "transport/link/tx/keep_alive"
    options = ZenohOptions(mode="router", config={path: 8})

    configuration = built(router(options, "10.0.0.1", ["10.0.0.2"]), options.config)

    assert json.loads(configuration.get_json(path)) == 8
    assert json.loads(configuration.get_json("transport/shared_memory/enabled")) is False
    assert json.loads(configuration.get_json("connect/endpoints")) == ["tcp/10.0.0.2:7447"]


def test_hosts_get_the_package_as_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAOSKIT_CACHE", str(tmp_path))

    folder = package.provide("1.0")

    assert (folder / "zenoh/__init__.py").is_file()
    assert package.provide("1.0") == folder == package.folder("1.0")
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def _effect(lasted_s: float, *, abrupt: bool = False, delays: bool = True, on_links: bool = True) -> Effect:
    healed_ns = SECOND + int(lasted_s * SECOND)
    acts = guaranteed.acts_of(abrupt=abrupt, on_links=on_links, delays=delays)
    on_links = on_links and not abrupt
    return Effect("fault", ("n1",), True, Damage.NONE, SECOND, healed_ns, on_links=on_links, acts=acts)


CUT = _effect(2)
SMALL = Paced(200, 1, 100)


def _declared(link: Any, producer: dict[str, Any], consumer: dict[str, Any], paced: Paced = SMALL) -> Declared:
    options = ZenohOptions(link=link)
    return Declared(options, 2, 0, (), producer, consumer, traits=(paced,), load_ns=30 * SECOND)


ROUTED = Declared(ZenohOptions(mode="router"), 2, 0, (), {}, {}, traits=(SMALL,), load_ns=30 * SECOND)


@pytest.mark.parametrize(
    ("rule", "declared", "effects", "applies"),
    [
        ("drop", _declared("tcp", {}, {}), [CUT], True),
        ("drop", _declared("tcp", {}, {}), [], False),
        ("drop", _declared("tcp", {}, {}, Paced(1, 1, 10**6)), [], True),
        ("drop", _declared("tcp", {}, {}, Paced(None, 1, 100)), [], True),
        ("drop", _declared("tcp", BLOCK, {}, Paced(1, 1, 10**6)), [CUT], False),
        ("drop", _declared("udp", BLOCK, {}), [CUT], False),
        ("drop", _declared("tcp", {}, {}), [_effect(2, delays=False)], False),
        ("best-effort", _declared("tcp", {**BLOCK, "qos": "best-effort"}, {}), [CUT], True),
        ("best-effort", _declared("tcp", {**BLOCK, "qos": "best-effort"}, {}), [], False),
        ("best-effort", _declared("udp", BLOCK, {}), [CUT], False),
        ("datagrams", _declared("udp", BLOCK, {}), [CUT], True),
        ("datagrams", _declared("udp", BLOCK, {}), [], False),
        ("datagrams", _declared("tcp", {}, {}), [CUT], False),
        ("datagrams", _declared("udp", CACHED, RECOVERY), [CUT], True),
        ("process-ended", _declared("tcp", BLOCK, {}), [_effect(1, abrupt=True)], True),
        ("process-ended", _declared("tcp", BLOCK, {}), [CUT], False),
        ("process-ended", _declared("tcp", {}, {}), [_effect(1, abrupt=True)], False),
        ("cache", _declared("tcp", {"cache": 1000}, RECOVERY), [CUT], False),
        ("cache", _declared("tcp", CACHED, RECOVERY), [], False),
        ("cache", _declared("tcp", CACHED, {}), [CUT], False),
        ("cache", _declared("udp", CACHED, RECOVERY), [CUT], False),
        ("not-heard", _declared("tcp", {}, {}), [_effect(10)], True),
        ("not-heard", _declared("tcp", {}, {}), [_effect(9.9)], False),
        ("not-heard", _declared("tcp", {}, {}), [_effect(10, delays=False)], False),
        ("not-heard", _declared("tcp", {}, {}), [_effect(1, abrupt=True)], True),
        ("not-heard", ROUTED, [_effect(1, on_links=False)], True),
        ("not-heard", ROUTED, [_effect(1)], False),
        ("not-heard", _declared("tcp", {}, {}), [_effect(1, on_links=False)], False),
        ("not-heard", _declared("tcp", BLOCK, {}), [_effect(5)], True),
        ("not-heard", _declared("tcp", BLOCK, {}), [_effect(4.9)], False),
        ("not-heard", _declared("tcp", CACHED, RECOVERY), [_effect(2)], True),
        ("not-heard", _declared("tcp", CACHED, RECOVERY), [_effect(2, delays=False)], False),
        ("not-heard", _declared("tcp", CACHED, {}), [_effect(2)], False),
    ],
)  # fmt: skip
def test_a_rule_applies_to_its_settings_and_faults_alone(
    rule: str, declared: Declared, effects: list[Effect], applies: bool
) -> None:
    (applied,) = (known for known in RULES if known.id == f"zenoh.{rule}")

    assert bool(guaranteed.applies(applied, declared, effects)) == applies
