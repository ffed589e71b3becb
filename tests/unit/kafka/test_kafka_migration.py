"""The migration from ZooKeeper to KRaft: which settings and services hosts get in which round."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.hosts.host import ServiceState
from chaoskit.contract.systems.operating import Migration
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.metadata import can_migrate
from clusters.kafka.operate import migration
from clusters.kafka.operate.migration import Migrator
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.system import KafkaSystem

BRIDGE = {"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": "10.0.0.2:2181"}


def _options(**more: Any) -> KafkaOptions:
    given = {"version": "3.9.1", "metadata": "zookeeper", "zookeeper": {"hosts": 1}, **more}
    return KafkaOptions.model_validate(given)


class Host:
    """A host with the log of a controller, whose services end when they are told to."""

    def __init__(self, number: int) -> None:
        self.name, self.address = f"n{number}", f"10.0.0.{number}"
        self.ended: list[str] = []
        self.copied = True

    def log_path(self, service: str) -> str:
        return f"/logs/{service}.log"

    def run(self, argv: Any, **_: Any) -> Any:
        return SimpleNamespace(status=0 if self.copied else 1)

    def signal(self, service: str, signal: str) -> None:
        self.ended.append(service)

    def state(self, service: str) -> ServiceState:
        return ServiceState.GONE if service in self.ended else ServiceState.RUNNING


class FakeNodes:
    """Takes note of what each host is given, and in which order hosts are started."""

    cluster_id = ""

    def __init__(self) -> None:
        self.given: dict[str, tuple[tuple[str, ...], dict[str, str], bool]] = {}
        self.started: list[str] = []

    def log_dirs(self, host: Host) -> list[str]:
        return ["/data/kafka"]

    def move(self, host: Host, services: tuple[str, ...], written: str, *, in_zookeeper: bool = False) -> None:
        properties = dict(line.split("=", 1) for line in written.splitlines())
        self.given[host.name] = (services, properties, in_zookeeper)

    def start(self, host: Host) -> None:
        self.started.append(host.name)


@pytest.fixture
def stage() -> SimpleNamespace:
    """A cluster of a broker on n1 and of ZooKeeper on n2."""
    hosts: Any = [Host(1), Host(2)]
    nodes: Any = FakeNodes()
    left: list[bool] = []
    ensemble: Any = SimpleNamespace(servers=[hosts[1]], connection="10.0.0.2:2181", cluster_id=lambda: "the-id")
    migrator = Migrator(hosts, _options(), nodes, ensemble, lambda: left.append(True))
    return SimpleNamespace(hosts=hosts, nodes=nodes, left=left, migrator=migrator)


def test_only_clusters_of_the_last_release_with_zookeeper_apart_migrate() -> None:
    assert can_migrate(_options())
    assert Migration in KafkaSystem().service_powers(_options())
    for options in (_options(zookeeper={}), _options(version="3.8.1"), KafkaOptions(version="3.9.1")):
        assert not can_migrate(options)
        assert Migration not in KafkaSystem().service_powers(options)


def test_controllers_come_to_the_hosts_of_zookeeper_with_the_id_of_the_cluster(stage: SimpleNamespace) -> None:
    stage.migrator.begin_round("copy")
    services, properties, in_zookeeper = stage.nodes.given["n2"]

    assert stage.nodes.cluster_id == "the-id"
    assert (services, in_zookeeper, stage.nodes.started) == (("zookeeper", "kafka"), False, ["n2"])
    assert (properties["process.roles"], properties["node.id"]) == ("controller", "2")
    assert properties.items() >= BRIDGE.items()
    assert [stage.migrator.takes_part(host) for host in stage.hosts] == [True, False]


def test_brokers_first_know_both_and_then_kraft_only(stage: SimpleNamespace) -> None:
    broker = stage.hosts[0]
    stage.migrator.begin_round("copy")
    stage.migrator.reconfigure(broker)
    _, both, in_zookeeper = stage.nodes.given["n1"]
    stage.migrator.begin_round("leave")
    stage.migrator.reconfigure(broker)
    _, after, still = stage.nodes.given["n1"]

    assert (in_zookeeper, still) == (True, False)
    assert (both["broker.id"], both["controller.quorum.voters"]) == ("1", "2@10.0.0.2:9093")
    assert both.items() >= BRIDGE.items()
    assert (after["process.roles"], after["node.id"]) == ("broker", "1")
    assert not after.keys() & (BRIDGE.keys() | {"broker.id"})


def test_at_last_zookeeper_is_stopped_and_the_controllers_forget_it(stage: SimpleNamespace) -> None:
    stage.migrator.begin_round("copy")
    assert stage.left == []
    assert "copied" in stage.migrator.end_round("copy")
    stage.migrator.begin_round("leave")
    assert "without ZooKeeper" in stage.migrator.end_round("leave")

    services, properties, _ = stage.nodes.given["n2"]
    assert (services, stage.hosts[1].ended) == (("kafka",), ["kafka", "zookeeper"])
    assert not properties.keys() & BRIDGE.keys()
    assert stage.left == [True]


def test_a_migration_that_does_not_complete_is_told(stage: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "_WITHIN_S", 0)
    stage.hosts[1].copied = False

    with pytest.raises(ServiceError, match="the controllers did not complete the migration within 0 s"):
        stage.migrator.end_round("copy")
