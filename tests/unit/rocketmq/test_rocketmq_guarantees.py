"""RocketMQ's rules: each allows what its cause explains, and not what a near miss of it cannot have caused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import guaranteed
import pytest

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group, Queueing
from clusters.rocketmq.guarantees.rules import RULES
from clusters.rocketmq.settings import Mode, RocketOptions

SECOND = 10**9
NO_FAULT: list[Effect] = []
SYNCED = {"flushDiskType": "SYNC_FLUSH"}
ALL_COPIES = {"allAckInSyncStateSet": True, "minInSyncReplicas": 2}


def _effect(kind: str, *targets: str, damage: Damage = Damage.NONE, **more: Any) -> Effect:
    acts = guaranteed.acts_of(abrupt=True)
    return replace(Effect(kind, targets, True, damage, 8 * SECOND, 10 * SECOND), acts=acts, **more)


POWER_N1 = [_effect("power-cut", "n1", damage=Damage.FORGETS)]
POWER_N2 = [_effect("power-cut", "n2", damage=Damage.FORGETS)]
POWER_ALL = [_effect("power-cut", "n1", "n2", "n3", damage=Damage.FORGETS)]
WIPED_N1 = [_effect("disk-wipe", "n1", damage=Damage.DESTROYS)]
WIPED_TWO = [_effect("disk-wipe", "n1", "n2", damage=Damage.DESTROYS)]
KILLED_N1 = [_effect("kill", "n1")]
CLIENT_GONE = [replace(_effect("client-crash", "consumer-0"), on_hosts=False)]
CLOCK_N1 = [replace(_effect("clock-offset", "n1"), acts=guaranteed.acts_of(delays=False))]


def _declared(mode: Mode = "controller", config: dict[str, Any] | None = None, **more: Any) -> Declared:
    options = RocketOptions(mode=mode, config=config or {}, version=more.pop("version", "5.5.0"))
    return Declared(options, 3, 3, (Topic("log-0", replication=3),), more.pop("producer", {}), {}, **more)


def _queue(kind: str = "normal", settings: tuple[tuple[str, int], ...] = (), **more: Any) -> Declared:
    topics = (Topic("queue-0", QUEUE, kind=kind, settings=settings),)
    return replace(_declared(traits=(Queueing(True, True, 2),), **more), topics=topics)


def _why(rule: str, declared: Declared, effects: list[Effect]) -> str:
    return guaranteed.applies(next(known for known in RULES if known.id == f"rocketmq.{rule}"), declared, effects)


@pytest.mark.parametrize(
    ("rule", "declared", "effects"),
    [
        ("os-flush", _declared("master-slave"), POWER_N1),
        ("os-flush", _declared("master-slave", {"brokerRole": "SYNC_MASTER", "inSyncReplicas": 3}), POWER_N1),
        ("os-flush", _declared("single"), POWER_N2),
        ("os-flush", _declared("controller"), POWER_N2),
        ("os-flush", _declared("controller", ALL_COPIES), POWER_ALL),
        ("os-flush", _declared("master-slave"), WIPED_N1),
        ("disks-lost", _declared("master-slave", SYNCED), WIPED_N1),
        ("disks-lost", _declared("controller", {**SYNCED, **ALL_COPIES}), WIPED_TWO),
        ("read-unflushed", _declared("single", SYNCED, version="5.2.0"), POWER_N1),
        ("one-copy", _declared("controller"), KILLED_N1),
        ("gives-up-slaves", _declared("controller", ALL_COPIES), KILLED_N1),
        ("oneway", _declared(producer={"send": "oneway"}), KILLED_N1),
        ("not-in-order", _declared(producer={"send": "async"}), NO_FAULT),
        ("not-in-order", _declared(producer={"send": "oneway"}), NO_FAULT),
        ("retries", _declared(producer={"send": "async"}), KILLED_N1),
        ("retries", _queue(), KILLED_N1),
        ("retries", _queue(producer={"send": "sync"}), KILLED_N1),
        ("any-order", _queue(), NO_FAULT),
        ("popped-again", _queue("fifo"), KILLED_N1),
        ("delayed-again", _queue(settings=(("delay", 3000),)), KILLED_N1),
        ("counted-twice", _declared(traits=(Group(),)), KILLED_N1),
    ],
)
def test_a_rule_allows_what_its_cause_explains(rule: str, declared: Declared, effects: list[Effect]) -> None:
    assert _why(rule, declared, effects)


@pytest.mark.parametrize(
    ("rule", "declared", "effects"),
    [
        ("os-flush", _declared("master-slave"), POWER_N2),
        ("os-flush", _declared("master-slave", SYNCED), POWER_ALL),
        ("os-flush", _declared("controller", SYNCED), POWER_ALL),
        ("os-flush", _declared("controller", ALL_COPIES), POWER_N1),
        ("os-flush", _declared("controller"), KILLED_N1),
        ("disks-lost", _declared("master-slave"), [_effect("disk-wipe", "n2", damage=Damage.DESTROYS)]),
        ("disks-lost", _declared("controller", ALL_COPIES), WIPED_N1),
        ("disks-lost", _declared("controller"), POWER_ALL),
        ("one-copy", _declared("controller", ALL_COPIES), KILLED_N1),
        ("one-copy", _declared("controller", {"inSyncReplicas": 2}), KILLED_N1),
        ("one-copy", _declared("master-slave"), KILLED_N1),
        ("one-copy", _declared("controller"), NO_FAULT),
        ("read-unflushed", _declared("single", SYNCED), POWER_N1),
        ("read-unflushed", _declared("single", version="5.2.0"), POWER_N1),
        ("read-unflushed", _declared("single", SYNCED, version="5.2.0"), KILLED_N1),
        ("gives-up-slaves", _declared("controller", ALL_COPIES), NO_FAULT),
        ("gives-up-slaves", _declared("controller", {"inSyncReplicas": 2}), KILLED_N1),
        ("gives-up-slaves", _declared("controller", ALL_COPIES, version="5.3.3"), KILLED_N1),
        ("gives-up-slaves", _declared("master-slave", ALL_COPIES), KILLED_N1),
        ("oneway", _declared(producer={"send": "oneway"}), NO_FAULT),
        ("oneway", _declared(producer={"send": "oneway"}), CLOCK_N1),
        ("oneway", _declared(), KILLED_N1),
        ("not-in-order", _declared(), KILLED_N1),
        ("retries", _declared(producer={"send": "async", "retryTimesWhenSendAsyncFailed": 0}), KILLED_N1),
        ("retries", _declared(), KILLED_N1),
        ("retries", _declared(producer={"send": "async"}), NO_FAULT),
        ("retries", _queue("fifo"), KILLED_N1),
        ("retries", _queue(producer={"retryTimesWhenSendAsyncFailed": 0}), KILLED_N1),
        ("any-order", _queue("fifo"), KILLED_N1),
        ("any-order", _declared(), NO_FAULT),
        ("popped-again", _queue("fifo"), NO_FAULT),
        ("delayed-again", _queue(), KILLED_N1),
        ("delayed-again", _queue(settings=(("delay", 3000),)), CLIENT_GONE),
        ("counted-twice", _declared(traits=(Group(),)), NO_FAULT),
        ("counted-twice", _declared(), KILLED_N1),
    ],
)
def test_a_rule_does_not_allow_what_a_near_miss_cannot_have_caused(
    rule: str, declared: Declared, effects: list[Effect]
) -> None:
    assert not _why(rule, declared, effects)
