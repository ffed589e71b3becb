"""Tiered storage: where the object store is, what brokers are told of it, and what is refused before a run starts."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.operating import Upgrade
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place
from clusters.kafka import settings
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.settings import KafkaOptions, broker_count, controllers, nodes, server_properties
from clusters.kafka.system import KafkaSystem
from clusters.kafka.tiered.local import LeaderReads

ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]


def _options(**more: Any) -> KafkaOptions:
    return KafkaOptions.model_validate({"tiered_storage": {}, **more})


def test_the_object_store_is_on_the_last_host_and_nothing_else_is() -> None:
    assert broker_count(_options(), 4) == 3
    assert list(nodes(_options(), 4)) == list(controllers(_options(), 4)) == [0, 1, 2]
    assert list(controllers(_options(controllers=1), 5)) == [3]
    assert broker_count(_options(controllers=1), 5) == 3


def test_brokers_are_told_where_it_is_and_copy_soon() -> None:
    written = server_properties(_options(tiered_storage={"timeout": "3s"}), ADDRESSES, 0, ["/data/kafka"])

    assert "rsm.config.address=http://10.0.0.4:9000\n" in written
    assert "rsm.config.timeout.ms=3000\n" in written
    assert "remote.log.storage.system.enable=true\n" in written
    assert "remote.log.manager.task.interval.ms=500\n" in written
    assert "10.0.0.4:909" not in written, "it is no controller"
    assert "remote.log" not in server_properties(KafkaOptions(), ADDRESSES, 0, ["/data/kafka"])


def test_the_workloads_topics_are_tiered() -> None:
    assert settings.topic_settings(_options(topic={"segment.ms": 1000})) == {
        "remote.storage.enable": True,
        "segment.ms": 1000,
    }
    assert settings.topic_settings(KafkaOptions()) == {}


def test_only_with_a_store_is_it_a_role_and_no_release_changes_under_it() -> None:
    system = KafkaSystem()

    assert "object-store" in system.roles_with(_options())
    assert "object-store" not in system.roles_with(KafkaOptions())
    assert Upgrade in system.service_powers(KafkaOptions())
    assert Upgrade not in system.service_powers(_options())


@pytest.mark.parametrize(
    ("more", "hosts", "words"),
    [
        ({"version": "3.8.0"}, 4, "cluster.tiered_storage: Kafka 3.8.0 has it as a preview, or not at all"),
        ({"version": "3.9.1", "metadata": "zookeeper"}, 4, "cluster.tiered_storage: not with metadata: zookeeper"),
        ({}, 1, "cluster.tiered_storage: the object store is on the last host, so that there is no broker"),
        ({"topic": {"cleanup.policy": "compact"}}, 4, "cluster.tiered_storage: Kafka tiers no compacted topics"),
        (
            {"topic": {"remote.storage.enable": False}},
            4,
            "cluster.tiered_storage: the workload's topics are not tiered",
        ),
        (
            {"tiered_storage": None, "topic": {"remote.storage.enable": True}},
            4,
            "cluster.topic.remote.storage.enable: there is no object store; add cluster.tiered_storage: {}",
        ),
        ({"config": {"rsm.config.address": "http://n1"}}, 4, "cluster.config.rsm.config.address"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], hosts: int, words: str) -> None:
    options = _options(**more)
    declared = Declared(options, hosts, broker_count(options, hosts), (Topic("log-0", replication=1),), {}, {})

    with pytest.raises(BadInput) as refused:
        KafkaSystem().check(declared)

    assert any(line.startswith(words) for line in str(refused.value).splitlines()), refused.value


def test_a_cluster_that_runs_already_has_a_store_of_its_own() -> None:
    declared = Declared(_options(), 3, 3, (Topic("log-0", replication=1),), {}, {})

    with pytest.raises(BadInput, match=r"cluster\.tiered_storage: a cluster that runs already has its own"):
        KafkaSystem().check_attach({"bootstrap.servers": "n1:9092"}, declared)


class _Brokers:
    """Three brokers, of which the first does not lead, the second is away, and the third reads what its store has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, lost: range = range(0)) -> None:
        self.lost = lost
        self.looks: list[int] = []
        self.leaves_after = 1000
        monkeypatch.setattr(probe, "local_start", self.local_start)
        monkeypatch.setattr(probe, "read_at", self.read_at)

    def local_start(self, host: str, port: int, topic: str, partition: int, timeout_s: float) -> int:
        self._lead(host)
        return port + partition

    def read_at(self, host: str, port: int, place: Place, position: int, timeout_s: float) -> bool:
        self._lead(host)
        self.looks.append(position)
        if position in self.lost:
            raise Refused(KafkaError.UNKNOWN)
        return True

    def _lead(self, host: str) -> None:
        if host == "n1":
            raise Refused(KafkaError.NOT_LEADER_FOR_PARTITION)
        if host == "n2" or len(self.looks) == self.leaves_after:
            raise ConnectionRefusedError


ALL = LeaderReads(["n1:1", "n2:1", "n3:9092"])
PLACE = "log-0", 2


def test_the_leader_is_asked_what_it_has_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    _Brokers(monkeypatch)

    assert ALL.local_start(PLACE, 1) == 9094
    assert LeaderReads(["n1:1", "n2:1"]).local_start(PLACE, 1) is None


@pytest.mark.parametrize(
    ("lost", "at", "until"),
    [
        (range(100, 900), 100, 900),
        (range(50, 900), 100, 900),
        (range(100, 5000), 100, 1000),
        (range(100, 101), 100, 101),
    ],
    ids=["from here on", "from before", "to the end", "one message"],
)
def test_a_gap_ends_where_the_leader_reads_again(
    monkeypatch: pytest.MonkeyPatch, lost: range, at: int, until: int
) -> None:
    brokers = _Brokers(monkeypatch, lost=lost)

    assert ALL.gap(PLACE, at, 1000, 5) == (at, until, "UNKNOWN_SERVER_ERROR")
    assert len(brokers.looks) < 100


def test_what_can_be_read_or_nobody_tells_is_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    _Brokers(monkeypatch, lost=range(100, 900))

    assert ALL.gap(PLACE, 99, 1000, 5) is None
    assert LeaderReads(["n1:1", "n2:1"]).gap(PLACE, 100, 1000, 5) is None


def test_a_leader_that_leaves_meanwhile_leaves_the_gap_open(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = _Brokers(monkeypatch, lost=range(100, 900))
    brokers.leaves_after = 5

    assert ALL.gap(PLACE, 100, 1000, 5) is None
