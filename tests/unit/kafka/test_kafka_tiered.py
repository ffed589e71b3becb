"""Tiered storage: where the object store is, what brokers are told of it, and what is refused before a run starts."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import GapReader, TieredReader
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.operating import Upgrade
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place
from clusters.kafka import settings
from clusters.kafka.clients.clients import KafkaClients
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.settings import KafkaOptions, broker_count, controllers, nodes, server_properties
from clusters.kafka.system import KafkaSystem
from clusters.kafka.tiered import store, tiering
from clusters.kafka.tiered.auditor import TieredAuditor
from clusters.kafka.tiered.local import LeaderReads
from clusters.kafka.tiered.tiering import KafkaTiering

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

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, lost: Collection[int] = ()) -> None:
        self.lost = lost
        self.looks: list[int] = []
        self.leaves_after = 1000
        self.stored = True
        monkeypatch.setattr(probe, "local_start", self.local_start)
        monkeypatch.setattr(probe, "read_at", self.read_at)
        monkeypatch.setattr(store, "answers", lambda *_: self.stored)

    def local_start(self, host: str, port: int, place: Place, timeout_s: float) -> int:
        self._lead(host)
        return port + place[1]

    def read_at(self, host: str, port: int, place: Place, position: int, timeout_s: float) -> bool:
        assert timeout_s > 0
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


ALL = LeaderReads(["n1:1", "n2:1", "n3:9092"], "n4:9000")
NOBODY = LeaderReads(["n1:1", "n2:1"], "n4:9000")
PLACE = "log-0", 2
REFUSED = "UNKNOWN_SERVER_ERROR, though the object store answers"


def test_the_leader_is_asked_what_it_has_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    _Brokers(monkeypatch)

    assert ALL.local_start(PLACE, 1) == 9094
    assert NOBODY.local_start(PLACE, 1) is None
    assert ALL.local_start(PLACE, 0) is None, "there is no time left"


@pytest.mark.parametrize(
    ("lost", "at", "until"),
    [
        (range(100, 900), 100, 900),
        (range(50, 900), 100, 900),
        (range(100, 5000), 100, 1000),
        (range(100, 101), 100, 101),
        ({*range(100, 130), *range(150, 900)}, 100, 130),
    ],
    ids=["from here on", "from before", "to the end", "one message", "of two the first"],
)
def test_a_gap_ends_where_the_leader_reads_again(
    monkeypatch: pytest.MonkeyPatch, lost: Collection[int], at: int, until: int
) -> None:
    brokers = _Brokers(monkeypatch, lost=lost)

    assert ALL.gap(PLACE, at, 1000, 5) == (at, until, REFUSED)
    assert len(brokers.looks) < 100


def test_a_readable_part_that_is_not_small_is_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    _Brokers(monkeypatch, lost={*range(20_000, 25_000), *range(45_000, 55_000)})

    assert ALL.gap(PLACE, 20_000, 1_000_000, 5) == (20_000, 25_000, REFUSED)


def test_what_can_be_read_or_nobody_tells_is_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = _Brokers(monkeypatch, lost=range(100, 900))

    assert ALL.gap(PLACE, 99, 1000, 5) is None
    assert ALL.gap(PLACE, 100, 1000, 0) is None
    assert NOBODY.gap(PLACE, 100, 1000, 5) is None

    brokers.stored = False
    assert ALL.gap(PLACE, 100, 1000, 5) is None, "a store that is away has not lost anything"


def test_a_leader_that_leaves_meanwhile_leaves_the_gap_open(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = _Brokers(monkeypatch, lost=range(100, 900))
    brokers.leaves_after = 5

    assert ALL.gap(PLACE, 100, 1000, 5) is None


def test_only_the_final_read_of_tiered_topics_asks_brokers() -> None:
    plain = {"bootstrap.servers": "127.0.0.1:1", "chaoskit.namespace": "t-"}
    tiered = {**plain, "chaoskit.brokers": "127.0.0.1:1", "chaoskit.store": "127.0.0.1:2"}
    auditors = [KafkaClients(connection).auditor({}) for connection in (plain, tiered)]

    assert [isinstance(auditor, TieredReader) for auditor in auditors] == [False, True]
    assert [isinstance(auditor, GapReader) for auditor in auditors] == [False, True]
    (_, auditor) = auditors
    assert isinstance(auditor, TieredAuditor)
    assert auditor.local_start("log-0", 0, 0.1) is None
    for one in auditors:
        one.close()


def test_a_partition_without_a_leader_has_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> tuple[int, int]:
        raise ServiceError("no end position of log-0/0")

    monkeypatch.setattr(TieredAuditor, "bounds", unknown)
    connection = {"bootstrap.servers": "127.0.0.1:1", "chaoskit.namespace": "t-"}
    auditor = KafkaClients({**connection, "chaoskit.brokers": "127.0.0.1:1", "chaoskit.store": "n4:1"}).auditor({})
    assert isinstance(auditor, TieredAuditor)

    assert auditor.gap("log-0", 0, 10, 0.1) is None
    auditor.close()


def test_leaders_tell_up_to_where_the_store_has_their_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    def until(address: str, port: int, place: Place, timeout_s: float) -> int:
        if address == "10.0.0.2":
            raise ConnectionRefusedError
        return 40 + place[1]

    monkeypatch.setattr(tiering, "tiered_until", until)
    hosts: Any = [SimpleNamespace(name=f"n{number}", address=f"10.0.0.{number}") for number in (1, 2)]
    placements = [Placed(("log-0", number), leader, ("n1", "n2")) for number, leader in enumerate(("n1", "n2", ""))]

    assert KafkaTiering(hosts).tiered(placements) == {("log-0", 0): 40}
