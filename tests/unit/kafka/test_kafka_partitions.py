"""Partitions added to Kafka's topics: what is asked, and what the answers mean."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from chaoskit.base.errors import BadInput
from chaoskit.contract.systems.service import ServiceError
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan
from clusters.kafka.clients.partitions import partition_count
from clusters.kafka.clients.producer import KafkaProducer
from clusters.kafka.operate import partitions
from clusters.kafka.operate.partitions import KafkaPartitions

HOST = cast("Any", SimpleNamespace(name="n1", address="10.0.0.1"))


def _topic(*leaders: int, error: Any = None) -> Any:
    states = {number: SimpleNamespace(leader=leader) for number, leader in enumerate(leaders)}
    return SimpleNamespace(partitions=states, error=error)


class _Client:
    """What brokers tell; without topics they do not answer."""

    def __init__(self, **topics: Any) -> None:
        self.topics = topics

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        if not self.topics:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(topics={name: state for name, state in self.topics.items() if topic in (None, name)})


@pytest.mark.parametrize(
    ("client", "count"),
    [
        (_Client(a=_topic(1, 2, 3), b=_topic(1, 2)), 2),
        (_Client(a=_topic(1, 2, 3)), None),
        (_Client(a=_topic(1, 2, 3), b=_topic(error=3)), None),
        (_Client(), None),
    ],
    ids=["the fewest", "one is not known", "one has an error", "nobody answers"],
)
def test_how_many_partitions_all_topics_have(client: Any, count: int | None) -> None:
    assert partition_count(client, ["a", "b"], 1) == count


def test_one_topic_is_asked_for_alone() -> None:
    assert partition_count(cast("Any", _Client(a=_topic(1, 2), b=_topic(1))), ["a"], 1) == 2


@pytest.mark.parametrize(("given", "every_s"), [({}, 300), ({"topic.metadata.refresh.interval.ms": 500}, 0.5)])
def test_a_producer_asks_as_often_as_it_refreshes_its_metadata(given: dict[str, Any], every_s: float) -> None:
    assert KafkaProducer({"bootstrap.servers": "127.0.0.1:1", **given}, lambda *_: None).asks_every_s == every_s


def test_a_producer_that_never_refreshes_never_asks() -> None:
    given = {"bootstrap.servers": "127.0.0.1:1", "topic.metadata.refresh.interval.ms": -1}

    assert KafkaProducer(given, lambda *_: None).asks_every_s == math.inf


def test_a_partition_counts_once_it_has_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "AdminClient", lambda *_, **__: _Client(a=_topic(1, -1, 2)))

    assert KafkaPartitions(cast("Any", None), lambda: ["a", "b"]).partitions_known_to(HOST) == {"a": 2, "b": 0}


def test_a_broker_that_does_not_answer_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "AdminClient", lambda *_, **__: _Client())

    with pytest.raises(ServiceError, match="n1 tells no partitions"):
        KafkaPartitions(cast("Any", None), lambda: ["a"]).partitions_known_to(HOST)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"record": "latency"}, "add-partitions has messages go to other partitions; write record: history"),
        (
            {"workload": {"kind": "firehose", "duration": "5s"}},
            "go to other partitions; workload firehose does not follow; use workload.kind: log",
        ),
        ({"expect": {"key-overtaken": "none"}}, "key-overtaken: cannot be found in this run, only where"),
    ],
)
def test_what_cannot_be_judged_is_refused(changed: dict[str, Any], words: str) -> None:
    faults = [{"at": "1s", "inject": "add-partitions", "on": "all", "count": 2}]
    content = {"name": "grown", "cluster": {"system": "kafka", "hosts": 1}, "faults": faults}
    load = {"kind": "log", "duration": "5s"}
    with pytest.raises(BadInput, match=words):
        make_plan(parse_scenario({**content, "workload": load, **changed}, "a.yaml"), "a.yaml")
