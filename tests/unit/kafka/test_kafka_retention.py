"""What Kafka's retention may delete during a run, and what it may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import guaranteed
import pytest
from guaranteed import effect

from chaoskit.base.quantities import HOUR, MINUTE
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.guarantees.mechanism import Limit, Measure, Mechanism
from chaoskit.contract.installed import nemesis
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group, Paced
from clusters.kafka.guarantees.retention import RETENTION_RULES, deletes
from clusters.kafka.settings import KafkaOptions


def _declared(topic: dict[str, Any] | None = None, config: dict[str, Any] | None = None) -> Declared:
    options = KafkaOptions.model_validate({"topic": topic or {}, "config": config or {}})
    return Declared(options, 3, 3, (Topic("log-0", replication=3),), {}, {}, load_ns=5 * MINUTE)


@pytest.mark.parametrize(
    ("topic", "config", "why"),
    [
        ({}, {}, ""),
        ({"retention.ms": 3000}, {}, "retention.ms=3000: segments are deleted"),
        ({"retention.ms": -1}, {"log.retention.ms": 3000}, ""),
        ({}, {"log.retention.ms": 3000, "log.retention.hours": 100}, "retention.ms=3000:"),
        ({}, {"log.retention.minutes": 2}, "retention.ms=120000:"),
        ({"retention.ms": 19 * 60_000}, {}, "retention.ms=1140000:"),
        ({"retention.ms": 21 * 60_000}, {}, ""),
        ({"retention.bytes": 1000}, {}, "retention.bytes=1000:"),
        ({"retention.bytes": -1}, {"log.retention.bytes": 1000}, ""),
        ({"retention.ms": 3000, "retention.bytes": 1000, "cleanup.policy": "compact"}, {}, ""),
        ({"retention.ms": 3000, "cleanup.policy": "compact,delete"}, {}, "retention.ms=3000:"),
    ],
)
def test_what_is_declared(topic: dict[str, Any], config: dict[str, Any], why: str) -> None:
    mechanisms = deletes(_declared(topic, config))
    assert "".join(mechanism.why for mechanism in mechanisms if _within_a_run(mechanism)).startswith(why)
    assert any(map(_within_a_run, mechanisms)) == bool(why)


def _within_a_run(mechanism: Mechanism) -> bool:
    """Whether a limit may be reached in a run of 20 minutes."""
    return isinstance(mechanism, Limit) and (mechanism.measure is Measure.SHOWN or mechanism.most < 20 * MINUTE)


@pytest.mark.parametrize(("size", "deleted"), [(10**6, True), (10**9, False)])
def test_a_size_that_the_load_cannot_reach_deletes_nothing(size: int, deleted: bool) -> None:
    paced = Paced(per_second=1000, clients=2, size=100)
    declared = replace(_declared({"retention.bytes": size}), traits=(paced,))

    assert any(map(_within_a_run, deletes(declared))) == deleted
    assert any(map(_within_a_run, deletes(replace(declared, traits=(replace(paced, per_second=None),)))))


@pytest.mark.parametrize(("ahead_ns", "deleted"), [(0, False), (24 * HOUR, False), (8 * 24 * HOUR, True)])
def test_a_clock_that_is_ahead_makes_messages_old(ahead_ns: int, deleted: bool) -> None:
    jump = replace(effect("clock-jump", "n1"), ahead_ns=ahead_ns)
    (rule,) = [rule for rule in RETENTION_RULES if rule.id == "kafka.retention"]

    assert bool(guaranteed.applies(rule, _declared(), [effect("kill", "n2"), jump])) == deleted


@pytest.mark.parametrize(
    ("kind", "parameters", "ahead_ns"),
    [
        ("clock-offset", {"offset": "192h"}, 192 * HOUR),
        ("clock-offset", {"offset": "-1h"}, 0),
        ("clock-jump", {"by": "2h"}, 2 * HOUR),
        ("clock-drift", {"rate": 3}, 2 * HOUR),
        ("clock-drift", {"rate": 0.5}, 0),
        ("clock-strobe", {"offset": "1h"}, HOUR),
        ("kill", {}, 0),
    ],
)
def test_how_far_a_fault_moves_clocks_ahead(kind: str, parameters: dict[str, Any], ahead_ns: int) -> None:
    plugin = nemesis(kind)

    assert plugin.ahead_ns(plugin.parameters.model_validate(parameters), HOUR) == ahead_ns


AWAY = effect("client-crash", "consumer-0", "consumer-1", start_s=0, healed_s=61)


@pytest.mark.parametrize(
    ("config", "fault", "allowed"),
    [
        pytest.param({"offsets.retention.minutes": 1}, AWAY, True, id="all away for so long"),
        pytest.param({"offsets.retention.minutes": 2}, AWAY, False, id="for less"),
        pytest.param({}, AWAY, False, id="by default seven days"),
        pytest.param({"offsets.retention.minutes": 1}, replace(AWAY, targets=("consumer-0",)), False, id="one there"),
        pytest.param(
            {"offsets.retention.minutes": 1}, replace(AWAY, targets=("producer-0", "producer-1")), False, id="producers"
        ),
        pytest.param({"offsets.retention.minutes": 1}, effect("clock-jump", "n1"), False, id="a wrong clock"),
    ],
)  # fmt: skip
def test_a_group_without_members_loses_its_offsets_after_a_time(
    config: dict[str, Any], fault: Effect, allowed: bool
) -> None:
    declared = replace(_declared(config=config), traits=(Group(members=2),))
    (rule,) = [rule for rule in RETENTION_RULES if rule.id == "kafka.offsets-expired"]

    assert bool(guaranteed.applies(rule, declared, [fault])) == allowed
    assert not guaranteed.applies(rule, declared, [])
