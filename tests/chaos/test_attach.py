"""A Kafka that runs already: attached to without its hosts, hit by commands, left as it was."""

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
    "do": "touch $DOWN/$CHAOSKIT_HOST; $(cat $DOWN/ssh-$CHAOSKIT_HOST) pkill -9 -f kafka.Kafka",
    "verify": f"! {_ANSWERS} 2>/dev/null",
    "undo": "rm -f $DOWN/$CHAOSKIT_HOST",
    "verify_undone": _ANSWERS,
    "abrupt": True,
}


@dataclass
class Theirs:
    """A cluster of somebody else's, with their own supervisor: brokers run unless a file says that they are down.

    Attributes:
        bootstrap: where clients connect.
        down: folder of these files, and of the command that reaches each host.
    """

    bootstrap: str
    down: Path

    def topics(self) -> list[str]:
        """Return the topics that are no internal ones."""
        known = AdminClient({"bootstrap.servers": self.bootstrap}, logger=None).list_topics(timeout=10).topics
        return sorted(name for name in known if not name.startswith("__"))

    def kill(self, **more: Any) -> dict[str, Any]:
        """Return the fault that kills the leader's process by a command."""
        return {"inject": "command", "on": "leader", "environment": {"DOWN": str(self.down)}, **_KILL, **more}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    down = tmp_path_factory.mktemp("down")
    kafka, local = system("kafka", "system"), provider("local", "provider")
    options = kafka.options()
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
        yield Theirs(",".join(f"{host.address}:9092" for host in lab.hosts), down)
        stop.set()
        supervisor.join()
        cluster.close()
        lab.close()
        journal.close()


def _supervise(cluster: Cluster, lab: Lab, down: Path, stop: threading.Event) -> None:
    while not stop.wait(0.3):
        for host in lab.hosts:
            if not (down / host.name).exists():
                cluster.power(Processes).start(host)


@pytest.mark.parametrize(("acks", "lost"), [("all", False), ("1", True)])
def test_the_leader_is_killed_by_a_command(theirs: Theirs, chaos: Any, acks: str, lost: bool) -> None:
    run = chaos(
        cluster={
            "system": "kafka", "attach": {"bootstrap.servers": theirs.bootstrap}, "hosts": 3,
            "topic": {"min.insync.replicas": 2 if acks == "all" else 1},
        },
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
    attach = {"system": "kafka", "attach": {"bootstrap.servers": theirs.bootstrap}, "hosts": 3, "prefix": "team-a-"}
    load = {"producers": 1, "consumers": 2, "rate": 500, "duration": "5s"}

    chaos(cluster=attach, workload={"kind": "log", "consumption": "group", "partitions": 3, **load}).assert_valid()
    chaos(cluster=attach, workload={"kind": "transactions", **load}).assert_valid()

    admin = AdminClient({"bootstrap.servers": theirs.bootstrap}, logger=None)
    assert [each.group_id for each in admin.list_consumer_groups().result().valid] == []
    assert theirs.topics() == []


def test_what_the_cluster_has_counts_not_what_the_scenario_says(theirs: Theirs, chaos: Any) -> None:
    def attached(**given: Any) -> Any:
        spec = {"system": "kafka", "attach": {"bootstrap.servers": theirs.bootstrap}, "hosts": 3, **given}
        return chaos(cluster=spec, workload={"kind": "log", "duration": "2s"})

    with pytest.raises(Exception, match=r"cluster\.hosts: the cluster has 3 brokers; write hosts: 3"):
        attached(hosts=5)
    with pytest.raises(Exception, match=r"cluster\.config\.min\.insync\.replicas: the brokers have 1, not 2"):
        attached(config={"min.insync.replicas": 2})
    with pytest.raises(Exception, match="no broker answers at 127"):
        attached(attach={"bootstrap.servers": "127.0.0.1:1"})
