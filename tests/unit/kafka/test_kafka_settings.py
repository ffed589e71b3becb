"""server.properties, as each host needs it."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.topic import Topic
from clusters.kafka.settings import KafkaOptions, broker_count, server_properties
from clusters.kafka.system import KafkaSystem

ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
LOG_DIRS = ["/disks/one/kafka", "/disks/two/kafka"]


def _properties(index: int, hosts: int = 3, **options: Any) -> dict[str, str]:
    written = server_properties(KafkaOptions.model_validate(options), ADDRESSES[:hosts], index, LOG_DIRS)
    lines = written.splitlines()
    assert len({line.partition("=")[0] for line in lines}) == len(lines)
    return dict(line.split("=", 1) for line in lines)


def test_combined_hosts_are_brokers_and_controllers() -> None:
    properties = _properties(1)

    assert properties["node.id"] == "2"
    assert properties["process.roles"] == "broker,controller"
    assert properties["controller.quorum.voters"] == "1@10.0.0.1:9093,2@10.0.0.2:9093,3@10.0.0.3:9093"
    assert properties["listeners"] == "PLAINTEXT://10.0.0.2:9092,CONTROLLER://10.0.0.2:9093"
    assert properties["advertised.listeners"] == "PLAINTEXT://10.0.0.2:9092"
    assert properties["log.dirs"] == "/disks/one/kafka,/disks/two/kafka"


def test_separate_controllers_are_the_last_hosts() -> None:
    broker, controller = _properties(2, 4, controllers=1), _properties(3, 4, controllers=1)

    assert (broker["process.roles"], controller["process.roles"]) == ("broker", "controller")
    assert broker["listeners"] == "PLAINTEXT://10.0.0.3:9092"
    assert controller["listeners"] == "CONTROLLER://10.0.0.4:9093"
    assert "advertised.listeners" not in controller
    assert broker["controller.quorum.voters"] == controller["controller.quorum.voters"] == "4@10.0.0.4:9093"


def test_dynamic_voters_are_found_by_their_addresses() -> None:
    broker = _properties(0, 4, controllers=1, voters="dynamic")

    assert broker["controller.quorum.bootstrap.servers"] == "10.0.0.4:9093"
    assert "controller.quorum.voters" not in broker
    assert "controller.quorum.bootstrap.servers" not in _properties(0, 4, controllers=1)


@pytest.mark.parametrize(("controllers", "brokers"), [("combined", 4), (1, 3), (3, 1)])
def test_controllers_keep_no_data(controllers: Any, brokers: int) -> None:
    assert broker_count(KafkaOptions(controllers=controllers), 4) == brokers


def test_internal_topics_have_as_many_replicas_as_there_are_brokers() -> None:
    single, large = _properties(0, 1), _properties(0, 4)

    assert (single["offsets.topic.replication.factor"], single["transaction.state.log.min.isr"]) == ("1", "1")
    assert (large["offsets.topic.replication.factor"], large["transaction.state.log.min.isr"]) == ("3", "2")


def test_given_settings_win_over_our_defaults() -> None:
    assert _properties(0)["num.io.threads"] == "4"
    assert _properties(0, config={"num.io.threads": 8})["num.io.threads"] == "8"


def test_a_null_setting_is_left_out_or_to_our_default() -> None:
    properties = _properties(0, config={"log.flush.interval.messages": None, "num.io.threads": None})

    assert "log.flush.interval.messages" not in properties
    assert properties["num.io.threads"] == "4"


@pytest.mark.parametrize(("value", "written"), [(True, "true"), (False, "false"), (1, "1"), (0.5, "0.5"), ("x", "x")])
def test_values_are_written_as_kafka_reads_them(value: Any, written: str) -> None:
    assert _properties(0, config={"some.setting": value})["some.setting"] == written


def test_topology_is_not_for_scenarios_to_set() -> None:
    properties = _properties(0, config={"node.id": 9, "log.dirs": "/tmp", "process.roles": "broker"})

    assert (properties["node.id"], properties["log.dirs"]) == ("1", ",".join(LOG_DIRS))
    assert properties["process.roles"] == "broker,controller"


def test_a_broker_is_in_the_rack_of_its_zone() -> None:
    zones = {"a": ["n1", "n2"]}

    assert [_properties(index, zones=zones).get("broker.rack") for index in range(3)] == ["a", "a", None]
    assert _properties(0, zones=zones, config={"broker.rack": "mine"})["broker.rack"] == "mine"


@pytest.mark.parametrize(
    ("given", "replicas", "refused"),
    [
        ({"topic": {"min.insync.replicas": 4}}, 3, "4 of 3 replicas"),
        ({"config": {"min.insync.replicas": 2}}, 1, "2 of 1 replicas"),
    ],
)
def test_more_replicas_in_sync_than_there_are_are_refused(given: dict[str, Any], replicas: int, refused: str) -> None:
    with pytest.raises(BadInput, match=f"min.insync.replicas: {refused} .* can never be in sync"):
        KafkaSystem().check(_declared(given, replicas))


@pytest.mark.parametrize(("given", "replicas"), [({"topic": {"min.insync.replicas": 3}}, 3), ({}, 1)])
def test_as_many_replicas_in_sync_as_there_are_are_taken(given: dict[str, Any], replicas: int) -> None:
    KafkaSystem().check(_declared(given, replicas))


def _declared(given: dict[str, Any], replicas: int) -> Declared:
    return Declared(KafkaOptions.model_validate(given), 3, 3, (Topic("log-0", replication=replicas),), {}, {})
