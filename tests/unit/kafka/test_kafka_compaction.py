"""Compacted topics of Kafka: what is known of them, what is refused, and when a deleted key may come back."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import HOUR, SECOND
from chaoskit.contract.workloads.datamodel import PUBSUB, QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.compaction import Compaction
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.system import KafkaSystem
from workloads.log.options import LogOptions

_LAG = "log.cleaner.min.compaction.lag.ms"
_KEY = "cluster.topic.cleanup.policy"


def _options(topic: dict[str, Any], config: dict[str, Any] | None = None) -> KafkaOptions:
    return KafkaOptions.model_validate({"topic": topic, "config": config or {}})


@pytest.mark.parametrize(
    ("topic", "config", "expected"),
    [
        ({"cleanup.policy": "compact"}, {}, Compaction(24 * HOUR)),
        ({"cleanup.policy": "compact,delete", "delete.retention.ms": 3000}, {}, Compaction(3 * SECOND)),
        ({}, {"log.cleanup.policy": "compact", _LAG: 500}, Compaction(24 * HOUR, SECOND // 2)),
        ({"cleanup.policy": "delete"}, {"log.cleanup.policy": "compact"}, None),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_how_topics_are_compacted(topic: dict[str, Any], config: dict[str, Any], expected: Compaction | None) -> None:
    imposed = KafkaSystem().imposed(_options(topic, config), Topic("log-0"))

    assert Compaction.of(imposed.items()) == expected
    assert Compaction.of(KafkaSystem().imposed(_options(topic, config), Topic("q", QUEUE)).items()) is None


def _scenario(topic: dict[str, Any], **more: Any) -> None:
    record = {"record": more.pop("record")} if "record" in more else {}
    cluster = {"system": "kafka", "hosts": 1, "topic": topic, **more.pop("cluster", {})}
    content = {"name": "compacted", "cluster": cluster, "workload": {"kind": "log", "duration": "1s", **more}, **record}
    plan = make_plan(parse_scenario(content, "a.yaml"), "a.yaml")
    plan.system.check(plan.declared)


COMPACT = {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("topic", "more", "words"),
    [
        (COMPACT, {}, f"{_KEY}: a compacted topic takes no message without a key; set workload.keys"),
        ({}, {"keys": 5, "delete_every": 3}, f"workload.delete_every: deletes keys of compacted topics; set {_KEY}"),
        (COMPACT, {"delete_every": 3}, "delete_every deletes keys; set keys: 1 or more"),
        (COMPACT, {"keys": 5, "delete_every": 1}, "delete_every: 1 would delete each key and write none"),
        (COMPACT, {"keys": 5, "record": "latency"}, "record: latency: what compaction may remove is not told"),
        (
            COMPACT,
            {"kind": "transactions", "keys": 5},
            f"{_KEY}: transactions on compacted topics cannot be judged yet",
        ),
        (COMPACT, {"kind": "firehose"}, f"{_KEY}: only logs (workload.kind: log) can be judged on compacted topics"),
        (
            COMPACT,
            {"keys": 5, "delete_every": 3, "cluster": {"clients": "java"}},
            "needs DeletingClients, which clients of kafka lack: set cluster.clients: librdkafka",
        ),
    ],
)
def test_what_is_refused(topic: dict[str, Any], more: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        _scenario(topic, **more)

    assert words in str(refused.value)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_taken(policy: str) -> None:
    _scenario({"cleanup.policy": policy}, keys=5, delete_every=3)


def test_every_key_is_deleted_in_turn() -> None:
    options = LogOptions.model_validate({"keys": 4, "delete_every": 3})
    deleted = [sequence for sequence in range(24) if options.deletes(sequence)]

    assert len(deleted) == 24 / 3
    assert {sequence % 4 for sequence in deleted} == {0, 1, 2, 3}


def test_feeds_are_not_compacted() -> None:
    assert KafkaSystem().imposed(_options(COMPACT), Topic("feed", PUBSUB)) == {}
