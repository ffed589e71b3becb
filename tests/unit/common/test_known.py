"""Which settings a release has is read from its jars; here from jars with one class each for every place of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from classfile import class_file, jar

from chaoskit.base.errors import BadInput
from clusters.bookkeeper import known as bookkeeper
from clusters.bookkeeper.options import BookKeeperOptions
from clusters.common.properties import Scalar
from clusters.kafka import known as kafka
from clusters.kafka.settings import KafkaOptions
from clusters.pulsar import known as pulsar
from clusters.pulsar.settings import PulsarOptions

CONF = "org/apache/bookkeeper/conf"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The jars of a release of everything."""
    folder = tmp_path / "release-1.0.0"
    topics = ["flush.messages", "retention.ms", "min.insync.replicas", "segment.ms", "delete"]
    kafka_classes = {
        "org/apache/kafka/common/config/TopicConfig": class_file(topics),
        "org/apache/kafka/server/config/ServerConfigs": class_file(["broker.rack", "Where the broker is.", *topics]),
        "org/apache/kafka/coordinator/group/GroupConfig": class_file(["consumer.session.timeout.ms"]),
        "kafka/server/KafkaConfig": class_file(["node.id", "log.dirs", "listeners", "consumer.session.timeout.ms"]),
        "org/apache/kafka/server/Other": class_file(["not.a.setting"]),
    }
    bookkeeper_classes = {
        f"{CONF}/ClientConfiguration": class_file(["addEntryTimeoutSec"]),
        f"{CONF}/ServerConfiguration": class_file(["journalSyncData", "journalDirectories", "bookiePort"]),
        "org/apache/bookkeeper/bookie/Journal": class_file(["lastMark"]),
    }
    zookeeper_classes = {
        "org/apache/zookeeper/server/quorum/QuorumPeerConfig": class_file(["tickTime", "zookeeper."]),
        "org/apache/zookeeper/server/persistence/FileTxnLog": class_file(["zookeeper.forceSync"]),
        "org/apache/zookeeper/ZKUtil": class_file(["someWord"]),
    }
    pulsar_classes = {
        "org/apache/pulsar/broker/ServiceConfiguration": class_file(
            ["lookup"], fields=["managedLedgerCacheSizeMB", "clusterName"], statics=["CATEGORY"]
        )
    }
    jar(folder / "kafka-server.jar", kafka_classes)
    jar(folder / "bookkeeper-server.jar", bookkeeper_classes)
    jar(folder / "zookeeper-3.9.3.jar", zookeeper_classes)
    jar(folder / "pulsar-broker-common.jar", pulsar_classes)
    return folder


def test_settings_of_brokers_and_topics(release: Path) -> None:
    names = {group: set(settings) for group, settings in kafka.gather(release).items()}

    assert {"flush.messages", "retention.ms", "min.insync.replicas", "segment.ms"} <= names[kafka.TOPIC]
    assert {"broker.rack", "node.id", "listeners", "log.flush.interval.messages"} <= names[kafka.BROKER]
    assert {"log.retention.ms", "min.insync.replicas", "log.roll.ms", "log.roll.hours"} <= names[kafka.BROKER]
    wrong = {"flush.messages", "log.flush.messages", "consumer.session.timeout.ms", "not.a.setting", "log.delete"}
    assert not names[kafka.BROKER] & wrong


def test_names_that_older_releases_put_together_when_they_run(tmp_path: Path) -> None:
    topics = class_file(["flush.messages", "flush.ms", "segment.ms"])
    fragments = ["dirs", "cleaner.threads", "flush.interval.messages", "node.id", "offsets.retention.minutes"]
    content = {kafka.OF_TOPICS: topics, "kafka/server/KafkaConfig$": class_file(fragments)}
    jar(tmp_path / "kafka_2.13-3.7.2.jar", content)

    brokers = set(kafka.gather(tmp_path)[kafka.BROKER])

    assert {"log.dirs", "log.cleaner.threads", "log.flush.interval.messages", "node.id"} <= brokers
    assert not brokers & {"dirs", "cleaner.threads", "flush.interval.messages", "log.node.id"}


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"config": {"min.insync.replica": 2}}, 'no such setting; did you mean "min.insync.replicas"?'),
        ({"config": {"log.flush.interval.message": 1}}, 'did you mean "log.flush.interval.messages"?'),
        ({"config": {"flush.messages": 1}}, "use cluster.topic, or for all topics log.flush.interval.messages"),
        ({"config": {"retention.ms": 1}}, "use cluster.topic, or for all topics log.retention.ms"),
        (
            {"topic": {"flush.message": 1}},
            "cluster.topic.flush.message: a topic of Kafka 4.4.0 has no such setting; did",
        ),
        ({"topic": {"broker.rack": 1}}, "this is a setting of brokers; write it below cluster.config"),
        ({"config": {"min.insync.replica": None}}, "no such setting"),
    ],
)
def test_kafkas_settings_are_checked(release: Path, options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput) as refused:
        kafka.check_names(KafkaOptions.model_validate(options), release)

    assert refusal in str(refused.value)


def test_kafka_takes_what_it_knows_and_what_is_not_to_be_checked(release: Path) -> None:
    config: dict[str, Scalar] = {
        "log.flush.interval.messages": 1,
        "listener.name.plaintext.ssl.any": 1,
        "our.plugin": 1,
    }
    options = KafkaOptions(config=config, topic={"min.insync.replicas": 2}, config_unchecked=["our.plugin"])

    kafka.check_names(options, release)


def test_every_wrong_setting_is_named_at_once(release: Path) -> None:
    options = KafkaOptions(config={"node.ids": 1, "broker.racks": "a"}, topic={"retention.mss": 1})

    with pytest.raises(BadInput) as refused:
        kafka.check_names(options, release)

    assert [line.partition(": ")[0] for line in str(refused.value).splitlines()] == [
        "cluster.config.node.ids",
        "cluster.config.broker.racks",
        "cluster.topic.retention.mss",
    ]


@pytest.mark.parametrize(
    ("config", "refusal"),
    [
        (
            {"bookie": {"journalSyncDatas": False}},
            'a bookie of BookKeeper 4.18.0 has no such setting; did you mean "jour',
        ),
        ({"bookie": {"lastMark": 1}}, "no such setting"),
        ({"zookeeper": {"forcesync": "no"}}, 'did you mean "forceSync"?'),
        ({"zookeeper": {"zookeeper.forceSync": "no"}}, "write forceSync"),
        ({"zookeeper": {"someWord": 1}}, "no such setting"),
    ],
)
def test_settings_of_bookies_and_zookeeper_are_checked(release: Path, config: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput) as refused:
        bookkeeper.check_names(BookKeeperOptions.model_validate({"config": config}), release)

    assert refusal in str(refused.value)


def test_bookies_and_zookeeper_take_what_they_know(release: Path) -> None:
    config = {
        "bookie": {"journalSyncData": False, "addEntryTimeoutSec": 1, "prometheusStatsHttpPort": 1, "mine": 1},
        "zookeeper": {"tickTime": 1, "forceSync": "no", "metricsProvider.httpPort": 7},
    }

    bookkeeper.check_names(BookKeeperOptions.model_validate({"config": config, "config_unchecked": ["mine"]}), release)


def test_settings_of_bookkeepers_client_are_checked(release: Path) -> None:
    good, bad = {"addEntryTimeoutSec": 5}, {"addEntryTimeoutSecs": 5}

    bookkeeper.check_clients(BookKeeperOptions(), {"producer": good, "consumer": {}}, lambda: release)
    with pytest.raises(
        BadInput, match=r'^workload\.consumer\.addEntryTimeoutSecs: .* did you mean "addEntryTimeoutSec"'
    ):
        bookkeeper.check_clients(BookKeeperOptions(), {"producer": {}, "consumer": bad}, lambda: release)


def test_clients_without_settings_need_no_jars() -> None:
    def fetch() -> Path:
        raise AssertionError("nothing is to be fetched")

    bookkeeper.check_clients(BookKeeperOptions(), {"producer": {}, "consumer": {}}, fetch)


def test_a_pulsar_broker_hands_settings_on(release: Path) -> None:
    config = {"managedLedgerCacheSizeMB": 64, "bookkeeper_addEntryTimeoutSec": 1, "brokerClient_keepAlive": 1}

    pulsar.check_names(PulsarOptions.model_validate({"config": {"broker": config}}), release)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("managedLedgerCacheSizeMb", "managedLedgerCacheSizeMB"),
        ("bookkeeper_addEntryTimeoutSecs", "bookkeeper_addEntryTimeoutSec"),
    ],
)
def test_pulsars_settings_are_checked(release: Path, name: str, nearest: str) -> None:
    options = PulsarOptions.model_validate({"config": {"broker": {name: 1}, "bookie": {"bookiePorts": 1}}})

    with pytest.raises(BadInput) as refused:
        pulsar.check_names(options, release)

    assert (
        f'cluster.config.broker.{name}: a broker of Pulsar 4.2.4 has no such setting; did you mean "{nearest}"?'
        in str(refused.value)
    )
    assert "cluster.config.bookie.bookiePorts: " in str(refused.value)


@pytest.mark.parametrize("name", ["node.id", "listeners", "log.dirs", "process.roles", "controller.quorum.voters"])
def test_what_chaoskit_sets_for_kafka_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=rf"^cluster\.config\.{name}: chaoskit sets it itself"):
        kafka.check_topology(KafkaOptions(config={name: "7"}), 3)


def test_what_chaoskit_sets_for_pulsar_is_refused_for_every_role() -> None:
    config = {
        "broker": {"clusterName": "x"},
        "bookie": {"bookiePort": 1},
        "zookeeper": {"server.1": "x", "dataDir": "x"},
    }

    with pytest.raises(BadInput) as refused:
        pulsar.check_topology(PulsarOptions.model_validate({"config": config}), 3)

    assert [line.partition(": ")[0] for line in str(refused.value).splitlines()] == [
        "cluster.config.broker.clusterName",
        "cluster.config.bookie.bookiePort",
        "cluster.config.zookeeper.server.1",
        "cluster.config.zookeeper.dataDir",
    ]


def test_defaults_of_chaoskit_may_be_replaced() -> None:
    kafka.check_topology(KafkaOptions(config={"num.io.threads": 8, "offsets.topic.replication.factor": 1}), 3)
    pulsar.check_topology(PulsarOptions.model_validate({"config": {"zookeeper": {"tickTime": 500}}}), 3)
