"""Mosquitto's plug-in without a broker: releases, files, what is refused, rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import guaranteed
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.guarantees.mechanism import Limit
from chaoskit.contract.workloads.traits import Paced
from chaoskit.model.observations.feed import Promise
from chaoskit.scenario.plan import read_plan
from clusters.hosts.roots import _check
from clusters.mosquitto.client import own_broker
from clusters.mosquitto.client_settings import promise, publisher_settings, subscriber_settings
from clusters.mosquitto.guarantees.rules import RULES
from clusters.mosquitto.probe import answers
from clusters.mosquitto.releases import root_of
from clusters.mosquitto.settings import Bridge, MosquittoOptions, in_effect, mosquitto_conf

SECOND = 10**9


BRIDGED = {"system": "mosquitto", "hosts": 2, "bridge": {}}
LASTING = {"kind": "feed", "duration": "5s", "consumer": {"clean_session": False}}
SHARING = {"kind": "feed", "duration": "5s", "consumer": {"share": "g"}}


def _content(**changes: Any) -> dict[str, Any]:
    small = {
        "name": "small",
        "cluster": {"system": "mosquitto", "hosts": 1},
        "workload": {"kind": "feed", "duration": "5s"},
    }
    return {**small, **changes}


@pytest.mark.parametrize(("version", "release"), [("2.0.11", "bookworm"), ("2.0.21", "trixie"), ("2.1.7", "sid")])
def test_a_release_is_in_one_of_debian(version: str, release: str) -> None:
    assert root_of(version).release == release
    assert root_of(version).packages == {"mosquitto": version}


@pytest.mark.parametrize("version", ["2", "2.0", "2.0.18", "1.6.9", "two.0.11"])
def test_a_release_that_debian_does_not_have_is_refused_with_those_it_has(version: str) -> None:
    with pytest.raises(BadInput, match=r"cluster\.version: .*2\.0\.11, 2\.0\.21, 2\.1\.2"):
        root_of(version)


def test_the_versions_of_debian_s_packages_are_understood() -> None:
    _check(root_of("2.0.11"), {"mosquitto": "2.0.11-1.2+deb12u2"})
    with pytest.raises(BadInput, match=r"Debian sid has mosquitto 2\.1\.3 now"):
        _check(root_of("2.1.2"), {"mosquitto": "2.1.3-1"})


def test_a_broker_listens_on_its_own_address_and_keeps_its_data_on_the_data_disk() -> None:
    options = MosquittoOptions(config={"autosave_interval": 1, "autosave_on_changes": True, "max_packet_size": None})
    lines = mosquitto_conf(in_effect(options, "10.0.0.1", "/data")).splitlines()

    assert [line for line in lines if line.startswith("listener")] == ["listener 1883 10.0.0.1"]
    assert "persistence true" in lines
    assert "persistence_location /data/mosquitto/" in lines
    assert "autosave_on_changes true" in lines
    assert not [line for line in lines if "max_packet_size" in line]


def test_a_bridge_leads_from_the_first_broker_to_the_second() -> None:
    options = MosquittoOptions(bridge=Bridge(qos=2, config={"restart_timeout": 1}))
    first = mosquitto_conf(in_effect(options, "10.0.0.1", "/data", "10.0.0.2")).splitlines()
    second = mosquitto_conf(in_effect(options, "10.0.0.2", "/data")).splitlines()

    lines = ["address 10.0.0.2:1883", "topic # out 2", "cleansession false", "restart_timeout 1"]
    assert first[first.index("connection chaoskit") + 1 :] == lines
    assert not [line for line in second if line.startswith(("connection", "address", "topic"))]


def test_a_bridge_that_leads_both_ways_has_clients_on_both_sides() -> None:
    options = MosquittoOptions(bridge=Bridge(direction="both"))
    first = mosquitto_conf(in_effect(options, "10.0.0.1", "/data", "10.0.0.2")).splitlines()

    assert "topic # both 1" in first
    names = ["producer-0", "consumer-1", "t1-producer-2", "roll-1", "auditor"]
    assert [own_broker(["n1", "n2"], name) for name in names] == ["n1", "n2", "n1", "n2", "n1"]
    assert own_broker(["n2"], "consumer-1") == "n2"


@pytest.mark.parametrize("name", ["connection", "listener", "persistence", "local_cleansession", "notifications"])
def test_settings_of_a_bridge_that_change_what_it_promises_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} cannot be set here; there are .*restart_timeout"):
        MosquittoOptions.model_validate({"bridge": {"config": {name: "x"}}})


@pytest.mark.parametrize("name", ["listener", "persistence_location", "log_dest", "user", "connection", "include_dir"])
def test_settings_that_chaoskit_makes_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} is set by chaoskit: .*; remove it"):
        MosquittoOptions(config={name: "x"})


@pytest.mark.parametrize("config", [{"Max Queued": 1}, {"max_queued_messages": "1\nlistener 1884"}])
def test_what_is_no_setting_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"name of a setting|one line"):
        MosquittoOptions(config=config)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cluster": {"system": "mosquitto", "hosts": 3}}, "cluster.hosts: 3: .*set hosts: 1"),
        ({"cluster": {"system": "mosquitto", "hosts": 1, "bridge": {}}}, "a bridge is between two .*; set hosts: 2"),
        ({"cluster": {"system": "mosquitto", "hosts": 1, "max_queued_messages": 1}}, "below config"),
        ({"workload": {"kind": "feed", "duration": "5s", "producer": {"qos": 3}}}, "workload.producer.qos"),
        (
            {"workload": {"kind": "feed", "duration": "5s", "consumer": {"clean": 1}}},
            "workload.consumer.clean: there is",
        ),
        ({"workload": {"kind": "log", "duration": "5s"}}, "workload.kind: log"),
        ({"cluster": BRIDGED}, "workload.consumer.clean_session: .*; set clean_session: false, or qos: 0"),
        ({"cluster": BRIDGED, "workload": {**LASTING, "producer": {"retain": True}}}, "retain: not with a bridge"),
        (
            {"cluster": {**BRIDGED, "bridge": {"direction": "both", "qos": 0}}, "workload": LASTING},
            "cluster.bridge.qos: 0: clients of one broker would be promised more than those of two; set that of the cl",
        ),
        ({"workload": {**LASTING, "consumers": 2, "leavers": 1}}, "workload.leavers: .* set clean_session: true"),
        ({"workload": {**SHARING, "consumers": 3, "leavers": 1}}, "workload.leavers: .*; remove consumer.share"),
    ],
)
def test_what_cannot_work_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        _check_all(_content(**changes))


def _check_all(content: dict[str, Any]) -> None:
    plan = read_plan(content, "small.yaml")
    plan.system.check(plan.declared)


@pytest.mark.parametrize(
    ("publishing", "subscribing", "promised"),
    [
        ({}, {}, Promise("at-least-once", lasting=False)),
        ({"retain": True}, {}, Promise("at-least-once", lasting=False, retained=True)),
        ({"retain": True, "qos": 0}, {}, Promise("at-most-once", lasting=False)),
        ({"qos": 0}, {"qos": 2}, Promise("at-most-once", lasting=False)),
        ({"qos": 2}, {"qos": 2, "clean_session": False}, Promise("exactly-once", lasting=True)),
        ({"qos": 2}, {"qos": 1, "clean_session": False}, Promise("at-least-once", lasting=True)),
        ({"retain": True}, {"share": "g"}, Promise("at-least-once", lasting=False, share="g")),
    ],
)
def test_the_lower_quality_of_service_holds(publishing: Any, subscribing: Any, promised: Promise) -> None:
    assert promise(publishing, subscribing) == promised


@pytest.mark.parametrize(
    ("bridge_qos", "delivery"), [(None, "exactly-once"), (1, "at-least-once"), (0, "at-most-once")]
)
def test_a_bridge_may_lower_it(bridge_qos: int | None, delivery: str) -> None:
    assert promise(QOS_2, QOS_2, bridge_qos).delivery == delivery


def test_all_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(BadInput) as raised:
        publisher_settings({"qos": 4, "keep": 1})

    assert re.search(r"workload\.producer\.qos: .*", str(raised.value))
    assert "workload.producer.keep: there is no such setting; there are qos, clean_session" in str(raised.value)


def test_nobody_answers_where_nothing_listens() -> None:
    assert not answers("127.0.0.2", 0.2)


def _effect(**changes: Any) -> Effect:
    given = {"kind": "x", "targets": ("n1",), "on_hosts": True, "damage": Damage.NONE, "start_ns": SECOND}
    ended = bool(changes.get("abrupt") or changes.get("damage"))
    acts = guaranteed.acts_of(abrupt=ended, delays=changes.get("delays", True))
    return Effect(**{**given, "healed_ns": 3 * SECOND, "acts": acts, **changes})


KILLED, CUT = _effect(abrupt=True), _effect(damage=Damage.FORGETS)
CRASHED = _effect(on_hosts=False, targets=("consumer-0",), abrupt=True)
WRONG_CLOCK = _effect(delays=False)
PUBLISHER_CRASHED = _effect(on_hosts=False, targets=("producer-0",))
STOPPED = _effect()
LASTS, QOS_0, QOS_2 = {"clean_session": False}, {"qos": 0}, {"qos": 2}
EXPIRES = {"clean_session": False, "protocol": "5"}
ALL = {"max_queued_messages": 0}


@dataclass(frozen=True)
class _Case:
    """A rule, a fault, and settings under which it applies, or does not."""

    rule: str
    effect: Effect
    applies: bool
    producer: dict[str, Any] = field(default_factory=dict)
    consumer: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    bridge: Bridge | None = None


@pytest.mark.parametrize(
    "case",
    [
        _Case("qos-0", STOPPED, True, QOS_0),
        _Case("qos-0", STOPPED, True, {}, QOS_0),
        _Case("qos-0", STOPPED, False),
        _Case("qos-0", WRONG_CLOCK, False, QOS_0),
        _Case("unsaved", KILLED, True),
        _Case("unsaved", CUT, True, {}, {}, {"persistence": False}),
        _Case("unsaved", STOPPED, False),
        _Case("unsaved", CRASHED, False),
        _Case("qos-0", STOPPED, True, bridge=Bridge(qos=0)),
        _Case("clean-bridge", STOPPED, True, bridge=Bridge(clean_session=True)),
        _Case("clean-bridge", WRONG_CLOCK, False, bridge=Bridge(clean_session=True)),
        _Case("clean-bridge", CRASHED, False, bridge=Bridge(clean_session=True)),
        _Case("clean-bridge", STOPPED, False, bridge=Bridge()),
        _Case("clean-bridge", STOPPED, False),
        _Case("member-ended", CRASHED, True, {}, {"share": "g"}),
        _Case("member-ended", CRASHED, False, {}, {"share": "g"} | LASTS),
        _Case("member-ended", PUBLISHER_CRASHED, False, {}, {"share": "g"}),
        _Case("member-ended", STOPPED, True, {}, {"share": "g"}),
        _Case("member-ended", WRONG_CLOCK, False, {}, {"share": "g"}),
        _Case("member-ended", CRASHED, False),
        _Case("session-expired", CRASHED, True, {}, EXPIRES | {"session_expiry": "2s"}),
        _Case("session-expired", STOPPED, True, {}, EXPIRES | {"session_expiry": "2s"}),
        _Case("session-expired", CRASHED, False, {}, EXPIRES | {"session_expiry": "3s"}),
        _Case("session-expired", PUBLISHER_CRASHED, False, {}, EXPIRES | {"session_expiry": "2s"}),
        _Case("session-expired", WRONG_CLOCK, False, {}, EXPIRES | {"session_expiry": "2s"}),
        _Case("session-expired", CRASHED, False, {}, LASTS),
        _Case("client-memory", CRASHED, True, QOS_2, QOS_2 | LASTS),
        _Case("client-memory", KILLED, False, QOS_2, QOS_2 | LASTS),
        _Case("client-memory", CRASHED, False, QOS_2, LASTS),
        _Case("at-least-once", STOPPED, True),
        _Case("at-least-once", STOPPED, False, QOS_2, QOS_2),
        _Case("at-least-once", WRONG_CLOCK, False),
        _Case("clean-publisher", STOPPED, True, QOS_2, QOS_2),
        _Case("clean-publisher", STOPPED, False, QOS_2 | LASTS, QOS_2),
        _Case("qos-2-forgotten", KILLED, True, QOS_2 | LASTS, QOS_2),
        _Case("qos-2-forgotten", STOPPED, False, QOS_2 | LASTS, QOS_2),
    ],
)
def test_a_rule_applies_where_its_settings_and_faults_are(case: _Case) -> None:
    (rule,) = (rule for rule in RULES if rule.id == f"mosquitto.{case.rule}")
    options, traits = MosquittoOptions(config=case.config, bridge=case.bridge), (Paced(200, 1, 100),)
    declared = Declared(options, 1, 1, (), case.producer, case.consumer, traits, 10 * SECOND)

    assert bool(guaranteed.applies(rule, declared, [case.effect])) == case.applies
    assert not guaranteed.applies(rule, declared, [])


@pytest.mark.parametrize(("config", "most"), [({}, [1000]), (ALL, []), ({"max_queued_messages": 7}, [7])])
def test_so_many_messages_wait_for_a_subscriber(config: dict[str, Any], most: list[int]) -> None:
    """What exceeds them, by the record, is tried in tests/unit/verdicts."""
    (rule,) = (rule for rule in RULES if rule.id == "mosquitto.queue-full")
    declared = Declared(MosquittoOptions(config=config), 1, 1, (), {}, {}, (Paced(200, 1, 100),), 10 * SECOND)

    assert [mechanism.most for mechanism in rule.mechanisms(declared) if isinstance(mechanism, Limit)] == most


_PLUGIN = "/usr/lib/x86_64-linux-gnu/mosquitto/mosquitto_persist_sqlite.so"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "saves them from time to time"),
        ({"persistence": False}, "persistence: false: "),
        ({"persistence": False, "global_plugin": _PLUGIN}, "saves every 5 s (plugin_opt_flush_period)"),
        ({"persistence": False, "plugin": _PLUGIN, "plugin_opt_flush_period": 1}, "saves every 1 s"),
    ],
)
def test_why_messages_were_not_saved(config: dict[str, Any], words: str) -> None:
    (rule,) = (rule for rule in RULES if rule.id == "mosquitto.unsaved")
    declared = Declared(MosquittoOptions(config=config), 1, 1, (), {}, {}, load_ns=30 * SECOND)

    assert words in guaranteed.applies(rule, declared, [KILLED])


@pytest.mark.parametrize(
    ("bridge", "applies"),
    [
        (Bridge(direction="both", config={"try_private": False}), True),
        (Bridge(direction="both"), False),
        (Bridge(config={"try_private": False}), False),
        (None, False),
    ],
)
def test_a_bridge_that_hides_gets_all_back_without_a_fault(bridge: Bridge | None, applies: bool) -> None:
    (rule,) = (rule for rule in RULES if rule.id == "mosquitto.echo")

    assert bool(guaranteed.applies(rule, Declared(MosquittoOptions(bridge=bridge), 2, 2, (), {}, {}), [])) == applies


@pytest.mark.parametrize(
    ("settings", "expires_s"),
    [({}, 0), (LASTS, 2**32 - 1), ({**EXPIRES, "session_expiry": "4s"}, 4), ({"protocol": "5"}, 0)],
)
def test_how_long_a_session_lasts(settings: dict[str, Any], expires_s: int) -> None:
    assert subscriber_settings(settings).expires_s == expires_s


@pytest.mark.parametrize("settings", [LASTS, {"protocol": "5"}])
def test_only_lasting_sessions_of_mqtt_5_expire(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="session_expiry: only lasting sessions of MQTT 5; set clean_session: false"):
        subscriber_settings({**settings, "session_expiry": "4s"})
