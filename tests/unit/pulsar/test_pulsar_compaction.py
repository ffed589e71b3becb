"""Compacted topics of Pulsar: how they are known, what is refused, and what their readers are given."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.compaction import Compaction
from chaoskit.model.message import WITHOUT_CONTENT
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan
from clusters.pulsar.clients import consumer
from clusters.pulsar.settings import PulsarOptions
from clusters.pulsar.system import PulsarSystem

COMPACTED = {"compactionThreshold": 1000}
_KEY = "cluster.namespace.compactionThreshold"


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [(COMPACTED, Compaction(0)), ({"compactionThreshold": 0}, None), ({}, None)],
)
def test_how_topics_are_compacted(namespace: dict[str, Any], expected: Compaction | None) -> None:
    options = PulsarOptions(namespace=namespace)

    assert Compaction.of(PulsarSystem().imposed(options, Topic("log-0")).items()) == expected
    assert Compaction.of(PulsarSystem().imposed(options, Topic("queue-0", QUEUE)).items()) is None


@pytest.mark.parametrize(
    ("namespace", "cluster", "workload", "words"),
    [
        (COMPACTED, {}, {}, f"{_KEY}: compaction drops messages without a key; set workload.keys"),
        (
            {},
            {},
            {"keys": 5, "delete_every": 3},
            f"deletes keys of compacted topics; set {_KEY}",
        ),
        (COMPACTED, {}, {"kind": "subscription", "keys": 5}, f"{_KEY}: only logs (workload.kind: log) can be judged"),
        (COMPACTED, {}, {"kind": "dedup", "keys": 5}, f"{_KEY}: only logs (workload.kind: log) can be judged"),
        (COMPACTED, {"clients": "java"}, {"keys": 5}, f"{_KEY}: compacted topics are not read with clients: java yet"),
        (COMPACTED, {}, {"keys": 5, "consumer": {"is_read_compacted": False}}, "workload.consumer.is_read_compacted"),
    ],
)
def test_what_is_refused(namespace: Any, cluster: Any, workload: Any, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        _check(namespace, cluster, workload)

    assert words in str(refused.value)


def _check(namespace: Any, cluster: Any, workload: Any) -> None:
    content = {
        "name": "compacted",
        "cluster": {"system": "pulsar", "hosts": 1, "namespace": namespace, **cluster},
        "workload": {"kind": "log", "duration": "1s", **workload},
    }
    plan = make_plan(parse_scenario(content, "a.yaml"), "a.yaml")
    plan.system.check(plan.declared)


class _Message:
    def __init__(self, content: bytes, key: str = "", **properties: str) -> None:
        self._given = content, key, properties

    def data(self) -> bytes:
        return self._given[0]

    def partition_key(self) -> str:
        return self._given[1]

    def properties(self) -> dict[str, str]:
        return self._given[2]


def test_a_deletion_carries_its_payload_in_a_property() -> None:
    carried = {WITHOUT_CONTENT: base64.b64encode(b"payload").decode()}

    assert consumer._payload(_Message(b"", "a", **carried)) == b"payload"
    assert consumer._payload(_Message(b"content", "a")) == b"content"
    assert consumer._payload(_Message(b"", "a")) == b""


def test_what_only_fills_a_place_in_a_batch_is_known() -> None:
    assert consumer._is_left_out(_Message(b""))
    assert not consumer._is_left_out(_Message(b"", "a"))
    assert not consumer._is_left_out(_Message(b"damaged"))
