"""RabbitMQ's plug-in without a cluster: releases, files, what is refused."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import guaranteed
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.workloads.datamodel import LOG, QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing, Resends
from chaoskit.scenario.machine import check_machine
from chaoskit.scenario.plan import read_plan
from clusters.hosts.roots import _check
from clusters.rabbitmq.guarantees.rules import RULES
from clusters.rabbitmq.releases import parse_version, root_of
from clusters.rabbitmq.settings import RabbitOptions, environment, rabbitmq_conf
from clusters.rabbitmq.system import RabbitSystem


def _content(**changes: Any) -> dict[str, Any]:
    small = {"name": "small", "cluster": {"system": "rabbitmq"}, "workload": {"kind": "queue", "duration": "5s"}}
    return {**small, **changes}


@pytest.mark.parametrize(("version", "release"), [("3.10.8", "bookworm"), ("4.0.5", "trixie"), ("4.3.9", "sid")])
def test_a_release_is_in_one_of_debian(version: str, release: str) -> None:
    assert root_of(version).release == release
    assert root_of(version).packages == {"rabbitmq-server": version}


@pytest.mark.parametrize("version", ["4", "4.0", "4.1.0", "3.13.7", "four.0.5"])
def test_a_release_that_debian_does_not_have_is_refused_with_those_it_has(version: str) -> None:
    with pytest.raises(BadInput, match=r"cluster\.version: .*3\.10\.8, 4\.0\.5, 4\.3\.6"):
        parse_version(version)


def test_a_release_that_the_archive_has_replaced_is_refused_with_the_new_one() -> None:
    _check(root_of("4.3.6"), {"rabbitmq-server": "4.3.6-1"})
    with pytest.raises(BadInput, match=r"cluster\.version: Debian sid has rabbitmq-server 4\.3\.7 now, not 4\.3\.6"):
        _check(root_of("4.3.6"), {"rabbitmq-server": "4.3.7-2"})


def test_a_node_listens_on_its_own_address_only() -> None:
    options = RabbitOptions(config={"net_ticktime": 8, "loopback_users": None, "listeners.tcp.1": "0.0.0.0:1"})
    lines = rabbitmq_conf(options, ["n1", "n2"], "10.0.0.1").splitlines()

    assert "listeners.tcp.1 = 10.0.0.1:5672" in lines
    assert "management.tcp.ip = 10.0.0.1" in lines
    assert "cluster_formation.classic_config.nodes.2 = rabbit@n2" in lines
    assert "net_ticktime = 8" in lines
    assert not [line for line in lines if line.startswith("loopback_users") or "0.0.0.0" in line]
    assert environment("n1", "10.0.0.1", "/data")["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] == (
        "-kernel inet_dist_use_interface {10,0,0,1}"
    )


def test_what_its_clients_do_not_have_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        read_plan(_content(workload={"kind": "queue", "rate": 0, "producer": {"hartbeat": 3}}), "bad.yaml")

    assert str(refused.value).splitlines() == [
        "bad.yaml: workload.rate: write a number of sends per second, such as 2000, or max (given: 0)",
        "bad.yaml: workload.producer.hartbeat: chaoskit sets no such parameter of pika's connections; did you mean "
        '"heartbeat"? Known: blocked_connection_timeout, connection_attempts, heartbeat, socket_timeout, stack_timeout',
    ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"workload": {"kind": "log", "type": "quorum"}}, "workload.type: rabbitmq has no log of type 'quorum'"),
        (
            {"workload": {"kind": "queue", "type": "classic", "replication": 3}},
            "workload.replication: a queue of type 'classic' has one copy only; remove it, or set workload.type to one "
            "of quorum, mirrored",
        ),
        (
            {
                "cluster": {"system": "rabbitmq", "version": "3.10.8", "hosts": 3},
                "workload": {"kind": "log", "type": "stream", "consumption": "group"},
            },
            "workload.consumption: RabbitMQ 3.10 has no groups of streams; set cluster.version: 4.0.5",
        ),
        ({"workload": {"kind": "log", "producer": {"acks": 1}}}, "workload.producer.acks: chaoskit sets no such"),
        ({"workload": {"kind": "log", "producer": {"heartbeat": "1s"}}}, "workload.producer.heartbeat: '1s' is"),
        ({"workload": {"kind": "queue", "type": "mirrored"}}, "workload.type: mirrored queues ended with RabbitMQ 3"),
        ({"cluster": {"policy": {"ha-mode": "all"}}}, "cluster.policy: mirrored queues"),
        ({"cluster": {"metadata": "khepri", "version": "3.10.8"}}, "cluster.metadata: RabbitMQ 3.10.8 has no khepri"),
    ],
)  # fmt: skip
def test_what_a_release_or_a_type_does_not_have_is_refused(given: dict[str, Any], why: str) -> None:
    given = {**given, "cluster": {"system": "rabbitmq", **given.get("cluster", {})}}
    with pytest.raises(BadInput, match=re.escape(why)):
        _check_all(_content(**given))


def _check_all(content: dict[str, Any]) -> None:
    plan = read_plan(content, "bad.yaml")
    plan.system.check(plan.declared)


def test_copies_that_are_no_number_are_refused_as_such() -> None:
    with pytest.raises(BadInput, match=r"workload\.replication: write a whole number"):
        _check_all(_content(workload={"kind": "queue", "type": "classic", "replication": "three"}))


@pytest.mark.parametrize("given", [{"type": "classic", "replication": 1}, {"type": "classic"}, {"replication": 3}])
def test_a_queue_of_one_copy_may_say_so(given: dict[str, Any]) -> None:
    _check_all(_content(cluster={"system": "rabbitmq", "hosts": 3}, workload={"kind": "queue", **given}))


@pytest.mark.parametrize(("direction", "refused"), [("in", True), ("both", True), ("out", False)])
def test_what_arrives_is_not_limited_on_hosts_with_another_root(
    direction: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusters.hosts.roots.make", str)
    faults = [{"at": "1s", "inject": "bandwidth", "on": "n1", "direction": direction}]

    with pytest.raises(BadInput, match="write direction: out") if refused else nullcontext():
        check_machine(read_plan(_content(faults=faults), "bad.yaml"))


def test_packets_are_not_handled_one_by_one_on_hosts_with_another_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusters.hosts.roots.make", str)
    faults = [{"at": "1s", "inject": "packet-delay", "on": "n1", "delay": "5ms"}]

    with pytest.raises(BadInput, match="faults: packet-delay: needs this machine's Python on the hosts"):
        check_machine(read_plan(_content(faults=faults), "bad.yaml"))


def _effect(damage: Damage, *, abrupt: bool = True) -> Effect:
    acts = guaranteed.acts_of(abrupt=abrupt) | (Act.VANISHES if damage and abrupt else Act.NONE)
    return Effect("fault", ("n1",), True, damage, 8 * SECOND, 10 * SECOND, acts=acts)


@pytest.mark.parametrize(
    ("version", "queueing", "effect", "rules"),
    [
        ("4.0.5", ("quorum", Queueing(True, True, 0)), _effect(Damage.FORGETS), {"limits"}),
        ("3.10.8", ("quorum", Queueing(True, True, 0)), _effect(Damage.FORGETS), {"global-hangs"}),
        ("3.10.8", ("quorum", Queueing(True, True, 0)), _effect(Damage.NONE, abrupt=False), set()),
        ("3.10.8", ("quorum", Queueing(True, True, 0)), _effect(Damage.NONE), set()),
        ("3.10.8", ("quorum", Queueing(True, True, 0)), _effect(Damage.CORRUPTS, abrupt=False), set()),
        ("4.0.5", ("classic", Queueing(True, True, 0)), _effect(Damage.FORGETS), {"classic-queue"}),
        ("3.10.8", ("classic", Queueing(True, True, 0)), _effect(Damage.FORGETS), {"global-hangs"}),
        (
            "3.10.8",
            ("classic", Queueing(True, True, 0)),
            _effect(Damage.DESTROYS),
            {"classic-queue", "global-hangs"},
        ),
        ("4.0.5", ("classic", Queueing(True, True, 0)), _effect(Damage.NONE), set()),
        ("4.0.5", ("classic", Queueing(True, False, 0)), _effect(Damage.NONE), {"transient"}),
        ("4.0.5", ("classic", Queueing(True, False, 0)), _effect(Damage.NONE, abrupt=False), set()),
        ("4.0.5", ("quorum", Queueing(True, False, 0)), _effect(Damage.NONE), {"limits"}),
        ("4.0.5", ("quorum", Queueing(False, True, 0)), _effect(Damage.NONE), {"no-confirms", "limits"}),
        ("4.0.5", ("quorum", Queueing(True, True, 1)), _effect(Damage.NONE), {"at-least-once", "limits"}),
    ],
)
def test_what_allows_what(version: str, queueing: tuple[str, Queueing], effect: Effect, rules: set[str]) -> None:
    kind, trait = queueing
    topic = Topic("queue-0", QUEUE, 1, 3 if kind == "quorum" else 1, kind)
    declared = Declared(RabbitOptions(version=version), 3, 3, (topic,), {}, {}, (trait,))

    applying = {rule.id for rule in RULES if guaranteed.applies(rule, declared, [effect])}
    assert applying == {f"rabbitmq.{name}" for name in rules}
    assert {rule.id for rule in RULES if guaranteed.applies(rule, declared, [])} == {
        f"rabbitmq.{name}" for name in rules & {"limits"}
    }


@pytest.mark.parametrize(
    ("producer", "traits", "effects", "allowed"),
    [
        ({"named": False}, (Resends("unconfirmed", False),), [_effect(Damage.NONE)], True),
        ({"named": True}, (Resends("unconfirmed", False),), [_effect(Damage.NONE)], False),
        ({}, (Resends("unconfirmed", False),), [_effect(Damage.NONE)], False),
        ({"named": False}, (), [_effect(Damage.NONE)], False),
        ({"named": False}, (Resends("unconfirmed", False),), [], False),
    ],
    ids=["without a name", "named", "default", "sends once", "no fault"],
)
def test_only_producers_without_a_name_write_twice(
    producer: dict[str, Any], traits: tuple[Any, ...], effects: list[Effect], allowed: bool
) -> None:
    stream = (Topic("log-0", LOG, kind="stream"),)
    (rule,) = [rule for rule in RULES if rule.id == "rabbitmq.without-name"]
    declared = Declared(RabbitOptions(), 3, 3, stream, producer, {}, traits)
    assert bool(guaranteed.applies(rule, declared, effects)) == allowed


def test_hosts_get_the_root_of_the_release() -> None:
    assert RabbitSystem().root(RabbitOptions(version="3.10.8")) == root_of("3.10.8")
