"""A secured Kafka that runs already: attached to without its hosts, hit by commands, left as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from chaoskit.base.journal import Journal
from chaoskit.contract.cluster import Cluster, Processes
from chaoskit.contract.host import Lab
from chaoskit.contract.installed import provider, system
from chaoskit.run.deployment import start

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_ANSWERS = 'timeout 1 bash -c "</dev/tcp/${CHAOSKIT_ADDRESS%:*}/9092"'
_KILL = {
    "do": "touch $DOWN/$CHAOSKIT_HOST; $(cat $DOWN/ssh-$CHAOSKIT_HOST) pkill -9 -f kafka[.]Kafka",
    "verify": f"! {_ANSWERS} 2>/dev/null",
    "undo": "rm -f $DOWN/$CHAOSKIT_HOST",
    "verify_undone": _ANSWERS,
    "abrupt": True,
}


@dataclass
class Theirs:
    """A cluster of somebody else's, with their own supervisor: brokers run unless a file says that they are down.

    Attributes:
        attach: how clients connect.
        password: that of their user, which is in the environment, too.
        down: folder of these files, and of the command that reaches each host.
    """

    attach: dict[str, Any]
    password: str
    down: Path

    def admin(self) -> AdminClient:
        """Return an administrator's client."""
        return AdminClient({**self.attach, "sasl.password": self.password}, logger=None)

    def topics(self) -> list[str]:
        """Return the topics that are no internal ones."""
        return sorted(name for name in self.admin().list_topics(timeout=10).topics if not name.startswith("__"))

    def kill(self, **more: Any) -> dict[str, Any]:
        """Return the fault that kills the leader's process by a command."""
        return {"inject": "command", "on": "leader", "environment": {"DOWN": str(self.down)}, **_KILL, **more}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    down = tmp_path_factory.mktemp("down")
    kafka, local = system("kafka", "system"), provider("local", "provider")
    options = kafka.options(security={"tls": True, "sasl": "scram-sha-512"})
    kafka.prepare(options)
    with Journal("test-attach") as journal:
        lab = local.provision(journal, 3, local.options())
        for host, access in zip(lab.hosts, lab.access(), strict=True):
            unknown = " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
            (down / f"ssh-{host.name}").write_text(access + unknown)
        cluster = kafka.deploy(lab.hosts, options)
        start(cluster)
        cluster.wait_ready(60)
        stop = threading.Event()
        supervisor = threading.Thread(target=_supervise, args=(cluster, lab, down, stop))
        supervisor.start()
        yield _reached(cluster.client_settings(), down)
        stop.set()
        supervisor.join()
        cluster.close()
        lab.close()
        journal.close()


def _reached(settings: dict[str, Any], down: Path) -> Theirs:
    (down / "ca.pem").write_text(settings.pop("ssl.ca.pem"))
    password = settings.pop("sasl.password")
    attach = {name: value for name, value in settings.items() if not name.startswith("chaoskit")}
    return Theirs({**attach, "ssl.ca.location": str(down / "ca.pem")}, password, down)


@pytest.fixture
def theirs(secured: Theirs, monkeypatch: pytest.MonkeyPatch) -> Theirs:
    monkeypatch.setenv("KAFKA_PASSWORD", secured.password)
    return secured


def _attached(theirs: Theirs, **more: Any) -> dict[str, Any]:
    attach = {**theirs.attach, "sasl.password": {"env": "KAFKA_PASSWORD"}}
    return {"system": "kafka", "attach": attach, "hosts": 3, **more}


def _supervise(cluster: Cluster, lab: Lab, down: Path, stop: threading.Event) -> None:
    while not stop.wait(0.3):
        for host in lab.hosts:
            if not (down / host.name).exists():
                cluster.power(Processes).start(host)


@pytest.mark.parametrize(("acks", "lost"), [("all", False), ("1", True)])
def test_the_leader_is_killed_by_a_command(theirs: Theirs, chaos: Any, acks: str, lost: bool) -> None:
    run = chaos(
        cluster=_attached(theirs, topic={"min.insync.replicas": 2 if acks == "all" else 1}),
        workload={"kind": "log", "producers": 2, "rate": 3000, "producer": {"acks": acks}, "duration": "14s"},
        faults=[{"at": "4s", "for": "3s", **theirs.kill()}],
    )  # fmt: skip

    run.assert_valid()
    (fault,) = run.verdict.faults
    assert (fault["effective"], fault["healed"]) == (True, True)
    if not lost:
        assert run.anomalies["lost"].count == 0
    assert theirs.topics() == [], "its topics are gone"


def test_a_group_and_transactions_leave_nothing(theirs: Theirs, chaos: Any) -> None:
    attach = _attached(theirs, prefix="team-a-")
    load = {"producers": 1, "consumers": 2, "rate": 500, "duration": "5s"}

    chaos(cluster=attach, workload={"kind": "log", "consumption": "group", "partitions": 3, **load}).assert_valid()
    chaos(cluster=attach, workload={"kind": "transactions", **load}).assert_valid()

    assert [each.group_id for each in theirs.admin().list_consumer_groups().result().valid] == []
    assert theirs.topics() == []


def test_what_the_cluster_has_counts_not_what_the_scenario_says(theirs: Theirs, chaos: Any) -> None:
    def attached(**given: Any) -> Any:
        return chaos(cluster=_attached(theirs, **given), workload={"kind": "log", "duration": "2s"})

    with pytest.raises(Exception, match=r"cluster\.hosts: the cluster has 3 brokers; write hosts: 3"):
        attached(hosts=5)
    with pytest.raises(Exception, match=r"cluster\.config\.min\.insync\.replicas: the brokers have 1, not 2"):
        attached(config={"min.insync.replicas": 2})
    with pytest.raises(Exception, match="no broker answers at 127"):
        attached(attach={"bootstrap.servers": "127.0.0.1:1"})


def test_secrets_are_in_no_file_of_a_run(theirs: Theirs, chaos: Any, capfd: pytest.CaptureFixture[str]) -> None:
    run = chaos(cluster=_attached(theirs), workload={"kind": "log", "rate": 200, "duration": "2s"})

    run.assert_valid()
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert [path for path in files if theirs.password.encode() in path.read_bytes()] == []
    assert "env: KAFKA_PASSWORD" in (run.folder / "scenario.yaml").read_text()
    assert theirs.password not in run.summary + "".join(capfd.readouterr())
