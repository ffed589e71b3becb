"""What Kafka's settings allow of a feed, and what is as near as can be and not allowed."""

from __future__ import annotations

from typing import Any

import guaranteed
import pytest
from guaranteed import effect

from chaoskit.contract.guarantees.guarantee import Allowance, Declared, Effect
from chaoskit.contract.workloads.datamodel import LOG, PUBSUB, DataModel
from chaoskit.contract.workloads.topic import Topic
from clusters.kafka.settings import KafkaOptions

CUT_OFF = effect("partition", "n1")
POWER = effect("power-cut", "n1")
RESENDS = {"acks": 1, "enable.idempotence": False}


def _allowed(anomaly: str, producer: dict[str, Any], *effects: Effect, model: DataModel = PUBSUB) -> Allowance:
    options = KafkaOptions.model_validate({})
    declared = Declared(options, 1, 1, (Topic("feed-0", model, 1, 1),), producer, {})
    return guaranteed.table("kafka", declared, list(effects))[anomaly]


def test_what_is_sent_again_may_come_twice() -> None:
    allowance = _allowed("redelivered", RESENDS, CUT_OFF)

    assert allowance.allowed
    assert allowance.remedy == "set enable.idempotence=true"


@pytest.mark.parametrize(
    ("producer", "effects", "model"),
    [
        pytest.param({"acks": "all"}, [CUT_OFF], PUBSUB, id="with idempotence, which is the default"),
        pytest.param({**RESENDS, "retries": 0}, [CUT_OFF], PUBSUB, id="without retries"),
        pytest.param({**RESENDS, "acks": 0}, [CUT_OFF], PUBSUB, id="without acknowledgements"),
        pytest.param(RESENDS, [], PUBSUB, id="without a fault"),
        pytest.param(RESENDS, [CUT_OFF], LOG, id="of a log, where one position comes twice only if it is read twice"),
    ],
)
def test_otherwise_nothing_may_come_twice(producer: dict[str, Any], effects: list[Effect], model: DataModel) -> None:
    assert not _allowed("redelivered", producer, *effects, model=model).allowed


def test_without_acknowledgements_subscribers_may_miss_what_was_sent() -> None:
    assert _allowed("missed", {"acks": 0}, CUT_OFF).allowed


@pytest.mark.parametrize(("fault", "allowed"), [(POWER, True), (effect("kill", "n1"), False)])
def test_what_was_not_flushed_may_be_lost_with_the_power_only(fault: Effect, allowed: bool) -> None:
    assert _allowed("lost", {"acks": "all"}, fault).allowed is allowed
