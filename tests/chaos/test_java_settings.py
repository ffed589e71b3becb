"""Kafka's own client says itself what it refuses, before anything starts; the relay compiles with the release."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.scenario.plan import read_plan
from clusters.kafka.java.settings import check_java_clients

pytestmark = [pytest.mark.chaos, pytest.mark.long]


def _check(cluster: Any = None, **clients: Any) -> None:
    workload = {"kind": "log", "duration": "10s", **clients}
    content = {"name": "x", "cluster": {"system": "kafka", "clients": "java", **(cluster or {})}, "workload": workload}
    check_java_clients(read_plan(content, "x.yaml").declared)


def test_settings_of_kafkas_own_client_are_taken() -> None:
    _check(producer={"linger.ms": 1, "partitioner.ignore.keys": True}, consumer={"max.poll.records": 10})
    _check(producer={"request.timeout.ms": 1_200_000})  # the timeout of deliveries follows


def test_every_wrong_setting_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        _check(
            producer={"linger.mss": 1, "bootstrap.servers": "x", "acks": "some"},
            consumer={"isolation.level": "high", "auto.offset.reset": "latest", "fetch.wait.max.ms": 5},
        )

    assert sorted(str(refused.value).splitlines()) == [
        "workload.consumer.auto.offset.reset: chaoskit sets it itself; remove it",
        'workload.consumer.fetch.wait.max.ms: Kafka\'s client has no such property; did you mean "fetch.max.wait.ms"?',
        "workload.consumer: rejected by Kafka's client: Invalid value high for configuration isolation.level: String "
        "must be one of: read_committed, read_uncommitted",
        "workload.producer.bootstrap.servers: chaoskit sets it itself; remove it",
        'workload.producer.linger.mss: Kafka\'s client has no such property; did you mean "linger.ms"?',
        "workload.producer: rejected by Kafka's client: Invalid value some for configuration acks: String must be one "
        "of: all, -1, 0, 1",
    ]


def test_logins_are_not_supported_yet() -> None:
    with pytest.raises(BadInput, match=r"cluster\.clients: java: connections with a login or encryption are not"):
        _check({"security": {"tls": True}})


@pytest.mark.parametrize("version", ["3.0.2", "4.1.1"])
def test_the_relay_compiles_with_old_and_new_releases(version: str) -> None:
    _check({"version": version})
