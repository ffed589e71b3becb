"""Metadata in ZooKeeper: where its servers are, what hosts are given, and what is refused before a run starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from guaranteed import effect, table
from kazoo.exceptions import NoNodeError

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.disk import DATA
from chaoskit.contract.hosts.host import CommandResult, ServiceState
from chaoskit.contract.systems.operating import Upgrade
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan
from clusters.common import maven
from clusters.kafka import artifacts
from clusters.kafka.deploy import ensemble
from clusters.kafka.deploy.ensemble import Ensemble
from clusters.kafka.deploy.nodes import KafkaNodes
from clusters.kafka.settings import KafkaOptions, broker_count, nodes, server_properties, zookeepers
from clusters.kafka.system import KafkaSystem
from clusters.zookeeper import probe

FLUSHED = {"flush.messages": 1, "min.insync.replicas": 3}
"""Brokers lose nothing by themselves."""

ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]


def _options(**more: Any) -> KafkaOptions:
    return KafkaOptions.model_validate({"version": "2.3.0", "metadata": "zookeeper", **more})


def _refusals(hosts: int = 4, **more: Any) -> list[str]:
    declared = Declared(_options(**more), hosts, hosts, (Topic("log-0", replication=1),), {}, {})
    try:
        KafkaSystem().check(declared)
    except BadInput as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("apart", "hosts", "servers", "brokers"),
    [
        ("combined", 1, [0], 1),
        ("combined", 2, [0], 2),
        ("combined", 4, [0, 1, 2], 4),
        (1, 4, [3], 3),
        (3, 5, [2, 3, 4], 2),
    ],
)
def test_servers_are_on_the_first_hosts_or_apart_on_the_last(
    apart: Any, hosts: int, servers: list[int], brokers: int
) -> None:
    options = _options(zookeeper={"hosts": apart})

    assert list(zookeepers(options, hosts)) == servers
    assert broker_count(options, hosts) == len(nodes(options, hosts)) == brokers


def test_in_kraft_mode_there_are_no_servers() -> None:
    assert list(zookeepers(KafkaOptions(), 3)) == []
    assert list(nodes(KafkaOptions(controllers=1), 4)) == [0, 1, 2, 3]


def test_a_broker_is_told_where_zookeeper_is_and_nothing_of_kraft() -> None:
    written = server_properties(_options(zookeeper={"hosts": 1}), ADDRESSES, 1, ["/data/kafka"])
    properties = dict(line.split("=", 1) for line in written.splitlines())

    assert properties["broker.id"] == "2"
    assert properties["zookeeper.connect"] == "10.0.0.4:2181"
    assert properties["listeners"] == properties["advertised.listeners"] == "PLAINTEXT://10.0.0.2:9092"
    assert properties["log.dirs"] == "/data/kafka"
    assert properties["offsets.topic.replication.factor"] == "3"
    assert not properties.keys() & {"process.roles", "node.id", "controller.quorum.voters", "controller.listener.names"}


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"version": "2.2.2"}, "cluster.version: Kafka 2.2.2 is too old; chaoskit supports 2.3 to 3.9 with ZooKeeper"),
        (
            {"version": "4.1.1"},
            "cluster.metadata: Kafka 4.1.1 has no ZooKeeper any more; write cluster.version: 2.3.0 to 3.9.1, or "
            "metadata: kraft",
        ),
        (
            {"controllers": 1},
            "cluster.controllers: not with metadata: zookeeper: any broker may become the controller; remove it",
        ),
        (
            {"version": "3.9.1", "features": {"some.feature": 1}},
            "cluster.features: not with metadata: zookeeper: they are levels of KRaft's metadata; remove it",
        ),
        (
            {"security": {"tls": True}},
            "cluster.security: not with metadata: zookeeper: keys and users are made for KRaft only; remove it",
        ),
        (
            {"zookeeper": {"hosts": 4}},
            "cluster.zookeeper.hosts: 4 of 4 hosts leaves no server or no broker; write a number below cluster.hosts, "
            "or combined",
        ),
        (
            {"version": "3.9.1", "config": {"process.roles": "broker"}},
            "cluster.config.process.roles: it counts with KRaft only; remove it, or see cluster.metadata",
        ),
        (
            {"version": "3.9.1", "config": {"broker.session.timeout.ms": 3000}},
            "cluster.config.broker.session.timeout.ms: it counts with KRaft only; remove it, or see cluster.metadata",
        ),
        (
            {"metadata": "kraft", "version": "3.9.1", "config": {"zookeeper.session.timeout.ms": 3000}},
            "cluster.config.zookeeper.session.timeout.ms: it counts with ZooKeeper only; remove it, or see "
            "cluster.metadata",
        ),
        (
            {"metadata": "kraft", "version": "3.9.1", "zookeeper": {"hosts": 1}},
            "cluster.zookeeper: there is none; write cluster.metadata: zookeeper, or remove the key",
        ),
        (
            {"clients": "java"},
            "cluster.clients: java needs Kafka 3.0.0 or later, not 2.3.0; remove it",
        ),
        (
            {"config": {"broker.id": 7}},
            "cluster.config.broker.id: chaoskit sets it itself, because hosts, addresses and folders depend on it; "
            "remove it",
        ),
        (
            {"zookeeper": {"config": {"clientPort": 2182}}},
            "cluster.zookeeper.config.clientPort: chaoskit sets it itself, because hosts, addresses and folders depend "
            "on it; remove it",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(more: dict[str, Any], refusal: str) -> None:
    assert _refusals(**more) == [refusal]


def test_what_goes_together_is_not() -> None:
    assert _refusals() == []
    assert _refusals(version="3.9.1", zookeeper={"hosts": 1, "config": {"tickTime": 1000}}) == []
    assert _refusals(config={"broker.session.timeout.ms": None, "zookeeper.session.timeout.ms": 3000}) == []


def test_a_setting_in_the_wrong_place_is_told_where_it_belongs() -> None:
    assert _options().zookeeper.misplaced("tickTime") == "write settings of ZooKeeper below config: {tickTime: ...}"
    assert _options().zookeeper.misplaced("hosts") == ""


def test_an_attached_cluster_is_not_said_to_have_zookeeper() -> None:
    declared = Declared(_options(), 3, 3, (Topic("log-0"),), {}, {})

    with pytest.raises(BadInput, match=r"cluster\.metadata: zookeeper: not with cluster\.attach yet"):
        KafkaSystem().check_attach({"bootstrap.servers": "10.0.0.1:9092"}, declared)


def test_releases_are_upgraded_in_kraft_mode_only() -> None:
    assert Upgrade in KafkaSystem().service_powers(KafkaOptions())
    assert Upgrade not in KafkaSystem().service_powers(_options())


def test_the_oldest_release_gets_a_client_of_zookeeper_that_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fetched(release: Any) -> Path:
        asked.append(release)
        return Path()

    monkeypatch.setattr(maven, "fetch", fetched)
    for version in ("2.3.0", "2.4.1", "3.9.1"):
        artifacts.fetch(version)

    oldest, next_, last = asked
    assert [release.main[1] for release in asked] == ["kafka_2.12", "kafka_2.13", "kafka_2.13"]
    assert ("org.apache.zookeeper", "zookeeper", "3.5.10") in oldest.others
    assert not [other for release in (next_, last) for other in release.others if other[1] == "zookeeper"]


def _declared(forced: str = "yes") -> Declared:
    options = _options(zookeeper={"hosts": 1, "config": {"forceSync": forced}}, topic=FLUSHED)
    return Declared(options, 4, 3, (Topic("log-0", replication=3),), {}, {})


@pytest.mark.parametrize(
    ("forced", "host", "fault", "rule"),
    [
        ("no", "n4", "power-cut", "kafka.zookeeper-not-forced"),
        ("no", "n1", "power-cut", ""),
        ("yes", "n4", "power-cut", ""),
        ("yes", "n4", "disk-wipe", "kafka.zookeeper-disks-lost"),
        ("yes", "n1", "disk-wipe", ""),
    ],
)
def test_only_what_zookeeper_forgets_explains_that_an_election_is_forgotten(
    forced: str, host: str, fault: str, rule: str
) -> None:
    declared = _declared(forced)
    allowed = table("kafka", declared, [effect(fault, host)])["truncated"]

    assert allowed.rule == rule


def test_roles_of_zookeeper_are_refused_where_there_is_none() -> None:
    assert {"controller", "zookeepers", "zookeeper-leader"} <= set(KafkaSystem().roles_with(_options()))
    content = {
        "name": "cut",
        "cluster": {"system": "kafka"},
        "workload": {"kind": "log"},
        "faults": [{"at": "1s", "inject": "kill", "on": "zookeeper-leader", "for": "1s"}],
    }
    with pytest.raises(BadInput, match="zookeeper-leader"):
        make_plan(parse_scenario(content, "cut"), "cut")


class Tree:
    """A client of ZooKeeper that knows some nodes."""

    def __init__(self, **content: bytes) -> None:
        self._content = content

    def get(self, path: str) -> tuple[bytes, None]:
        if path.removeprefix("/") not in self._content:
            raise NoNodeError
        return self._content[path.removeprefix("/")], None


def _ensemble(monkeypatch: pytest.MonkeyPatch, tree: Tree) -> Ensemble:
    @contextmanager
    def connected(servers: str, purpose: str) -> Iterator[Tree]:
        assert servers == "10.0.0.4:2181"
        yield tree

    monkeypatch.setattr(ensemble, "connected", connected)
    hosts: Any = [SimpleNamespace(name=f"n{index}", address=address) for index, address in enumerate(ADDRESSES, 1)]
    return Ensemble(hosts, _options(zookeeper={"hosts": 1}))


def test_the_controller_is_whom_zookeeper_names(monkeypatch: pytest.MonkeyPatch) -> None:
    known = _ensemble(monkeypatch, Tree(controller=b'{"version":1,"brokerid":2,"timestamp":"1"}'))

    assert known.controller() == 2
    assert known.names() == ("n4",)


def test_without_a_controller_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServiceError, match="no broker is currently the controller"):
        _ensemble(monkeypatch, Tree()).controller()


def test_a_server_outside_the_quorum_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = _ensemble(monkeypatch, Tree())
    monkeypatch.setattr(probe, "zookeeper_word", lambda *_: "This instance is not currently serving requests\n")

    assert known.missing() == "a ZooKeeper server is not part of the quorum"


class Host:
    """A host of a lab that keeps what it was given and told to run."""

    def __init__(self, number: int) -> None:
        self.name, self.address, self.data_dir = f"n{number}", f"10.0.0.{number}", "/data"
        self.disks = {DATA: SimpleNamespace(path="/data")}
        self.files: dict[str, str] = {}
        self.spawned: list[str] = []

    def install(self, jars: Path) -> str:
        return f"/cache/{jars.name}"

    def put(self, content: bytes, path: str) -> None:
        self.files[path] = content.decode()

    def run(self, argv: Sequence[str], **_: Any) -> Any:
        return SimpleNamespace(status=1, out="", err="")

    def as_service(self, argv: Sequence[str]) -> Sequence[str]:
        return argv

    def state(self, service: str) -> ServiceState:
        return ServiceState.RUNNING if service in self.spawned else ServiceState.GONE

    def spawn(self, service: str, argv: Sequence[str], environment: Any) -> None:
        self.spawned.append(service)


def _nodes(monkeypatch: pytest.MonkeyPatch, apart: Any, waited: list[int]) -> tuple[KafkaNodes, list[Any]]:
    monkeypatch.setattr(Ensemble, "await_readiness", lambda _, node: waited.append(node))
    hosts: list[Any] = [Host(number) for number in range(1, 5)]
    options = _options(zookeeper={"hosts": apart, "config": {"forceSync": "no"}})
    return KafkaNodes(hosts, options, Path("kafka-2.3.0"), Ensemble(hosts, options)), hosts


def test_zookeeper_is_started_before_the_broker_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    placed, hosts = _nodes(monkeypatch, "combined", waited)
    for host in hosts:
        placed.start(host)
        placed.start(host)

    assert [host.spawned for host in hosts] == [["zookeeper", "kafka"]] * 3 + [["kafka"]]
    assert [placed.services(host) for host in hosts] == [("zookeeper", "kafka")] * 3 + [("kafka",)]
    assert waited == [1, 2, 3, 4], "each broker waits for ZooKeeper, once"


def test_a_host_apart_gets_the_files_of_zookeeper_only(monkeypatch: pytest.MonkeyPatch) -> None:
    placed, (broker, *_, apart) = _nodes(monkeypatch, 1, [])
    placed.start(apart)

    assert apart.spawned == ["zookeeper"]
    assert "/etc/kafka/server.properties" not in apart.files
    assert "/etc/kafka/zoo.cfg" not in broker.files
    assert apart.files["/data/zookeeper/myid"] == "4\n"
    written = dict(line.split("=", 1) for line in apart.files["/etc/kafka/zoo.cfg"].splitlines())
    assert written["clientPortAddress"] == "10.0.0.4"
    assert written["forceSync"] == "no"
    assert not [name for name in written if name.startswith("server.")], "one server is no quorum"


def test_the_metadata_of_a_broker_is_in_the_logs_of_its_zookeeper(monkeypatch: pytest.MonkeyPatch) -> None:
    placed, (host, *_) = _nodes(monkeypatch, "combined", [])
    listed: list[str] = []

    def run(argv: Sequence[str], **_: Any) -> CommandResult:
        listed.extend(argv)
        return CommandResult(0, "", "")

    monkeypatch.setattr(host, "run", run)
    placed.files(host, "metadata", "log-0", 0)

    assert "/data/zookeeper/version-2/log.*" in listed
    assert placed.partition_of("/data/zookeeper/version-2/log.1") is None
    assert placed.partition_of("/data/kafka/log-0-2/00000.log") == ("log-0", 2)


def test_a_broker_waits_until_zookeeper_has_forgotten_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[object] = ["still there", None]
    tree = Tree()
    monkeypatch.setattr(tree, "exists", lambda _: answers.pop(0), raising=False)
    monkeypatch.setattr(probe, "zookeeper_word", lambda *_: "Mode: standalone\n")
    _ensemble(monkeypatch, tree).await_readiness(2)

    assert answers == []
