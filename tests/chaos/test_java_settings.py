"""Systems' own clients say themselves what they refuse, before anything starts; relays compile with the release."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.scenario.plan import read_plan
from clusters.kafka.java import settings as kafka
from clusters.pulsar.java import settings as pulsar
from clusters.rocketmq.clients.settings import check_clients

pytestmark = [pytest.mark.chaos, pytest.mark.long]


def _check(cluster: Any = None, **clients: Any) -> None:
    kafka.check_java_clients(_declared("kafka", {"clients": "java", **(cluster or {})}, clients))


def _check_pulsar(cluster: Any = None, **clients: Any) -> None:
    pulsar.check_java_clients(_declared("pulsar", {"clients": "java", **(cluster or {})}, clients))


def _check_rocketmq(**clients: Any) -> None:
    check_clients(_declared("rocketmq", {}, clients))


def _declared(system: str, cluster: dict[str, Any], clients: dict[str, Any]) -> Declared:
    workload = {"kind": "log", "duration": "10s", **clients}
    content = {"name": "x", "cluster": {"system": system, **cluster}, "workload": workload}
    return read_plan(content, "x.yaml").declared


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


@pytest.mark.parametrize("version", ["3.0.2", "4.4.0"])
def test_the_relay_compiles_with_old_and_new_releases(version: str) -> None:
    _check({"version": version})


def test_settings_of_pulsars_own_client_are_taken() -> None:
    _check_pulsar(
        producer={"batchingMaxMessages": 4096, "compressionType": "LZ4", "numIoThreads": 1, "memoryLimitBytes": 2**26},
        consumer={"receiverQueueSize": 100, "connectionsPerBroker": 2},
    )
    _check_pulsar(consumption="group", consumer={"ackTimeoutMillis": 9000, "subscriptionType": "Exclusive"})


def test_every_setting_that_pulsars_own_client_refuses_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        _check_pulsar(
            producer={
                "batchingEnabledd": True, "compressionType": "ZIP", "topicName": "x", "batchingMaxMessages": 9999,
                "sendTimeoutMs": "soon",
            },
            consumer={"ackTimeoutMillis": 9000, "serviceUrl": "pulsar://elsewhere:6650"},
        )  # fmt: skip

    reasons = dict(line.split(": ", 1) for line in str(refused.value).splitlines())
    absent, types = "Pulsar's client has no such property", "[NONE, LZ4, ZLIB, ZSTD, SNAPPY]"
    assert reasons.pop("workload.consumer.ackTimeoutMillis") == absent, "readers acknowledge nothing"
    assert reasons.pop("workload.consumer.serviceUrl") == "chaoskit sets it itself; remove it"
    assert "`long`" in reasons.pop("workload.producer"), "the time of a send"
    assert reasons == {
        "workload.producer.batchingEnabledd": f'{absent}; did you mean "batchingEnabled"?',
        "workload.producer.batchingMaxMessages": "positions allow 1 to 4096; change it",
        "workload.producer.compressionType": f"rejected by Pulsar's client: must be one of {types}",
        "workload.producer.topicName": "chaoskit sets it itself; remove it",
    }


def test_a_group_of_pulsar_has_one_reader_of_a_partition() -> None:
    with pytest.raises(BadInput, match=r"workload\.consumer\.subscriptionType: a log is read by one consumer"):
        _check_pulsar(consumption="group", consumer={"subscriptionType": "Shared"})


def test_settings_of_batches_of_rocketmqs_client_are_taken() -> None:
    _check_rocketmq(
        producer={"autoBatch": True, "batchMaxDelayMs": 5, "batchMaxBytes": 32_768, "totalBatchMaxBytes": 2**25}
    )


def test_every_setting_that_rocketmqs_client_refuses_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        _check_rocketmq(producer={"batchMaxDelayMs": -1, "batchMaxBytes": 2**22, "autoBatches": True})

    assert sorted(str(refused.value).splitlines()) == [
        "workload.producer.autoBatches: RocketMQ's client has no such property",
        "workload.producer.batchMaxBytes: write a number from 1 to 2097152",
        "workload.producer.batchMaxDelayMs: write a number from 1 to 30000",
    ]
