"""A secured Kafka that runs already, on machines of somebody else's: attached to, hit, and left as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.cimpl import NewTopic
from pyarrow.parquet import read_table
from remote.kafka import PACKAGES, PASSWORD, QUICK, Theirs, jars
from remote.machines import machines

from chaoskit.base import yaml
from chaoskit.base.waiting import wait_until
from chaoskit.scenario.files import find

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_ANSWERS = 'timeout 1 bash -c "</dev/tcp/${CHAOSKIT_ADDRESS%:*}/9092"'
_KILL = {
    "do": "$THEIRS/k$CHAOSKIT_NODE down",
    "verify": f"! {_ANSWERS} 2>/dev/null",
    "undo": "$THEIRS/k$CHAOSKIT_NODE up",
    "verify_undone": _ANSWERS,
    "abrupt": True,
}
_SWITCHED_S = 75
"""The dead man's switch waits for 30 s; then the services start."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    with machines(tmp_path_factory.mktemp("theirs"), 3, jars(), PACKAGES) as theirs:
        yield Theirs(theirs, QUICK)


@pytest.fixture
def theirs(running: Theirs, monkeypatch: pytest.MonkeyPatch) -> Theirs:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    running.wait_whole()
    return running


def _attached(theirs: Theirs, **more: Any) -> dict[str, Any]:
    return {"system": "kafka", "attach": theirs.attach, **more}


def _with_hosts(theirs: Theirs, **more: Any) -> dict[str, Any]:
    return _attached(theirs, inventory=theirs.inventory, **more)


@pytest.fixture
def commands(theirs: Theirs, tmp_path: Path) -> Path:
    """A folder with a command for each host, such as a team has: `k1 down`, `k1 up`."""
    for name in theirs.machines.names:
        down, up = "sudo pkill -9 -f kafka[.]Kafka", "sudo /opt/system/start"
        if name != "k3":
            down, up = f"{down}; sudo supervisorctl stop kafka", "sudo supervisorctl start kafka"
        reach = f"ssh -i {theirs.machines.key} -o UserKnownHostsFile={theirs.machines.known_hosts}"
        script = f'#!/bin/sh\n[ "$1" = down ] && act="{down}" || act="{up}"\n'
        script += f'{reach} deploy@{theirs.machines.addresses[name]} "$act"; true\n'
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(("acks", "lost"), [("all", False), ("1", True)])
def test_the_leader_is_killed_by_a_command(theirs: Theirs, commands: Path, chaos: Any, acks: str, lost: bool) -> None:
    kill = {"inject": "command", "on": "leader", "environment": {"THEIRS": str(commands)}, **_KILL}

    run = chaos(
        cluster=_attached(theirs, topic={"min.insync.replicas": 2 if acks == "all" else 1}),
        workload={"kind": "log", "producers": 2, "rate": 3000, "producer": {"acks": acks}, "duration": "14s"},
        faults=[{"at": "4s", "for": "3s", **kill}],
    )

    run.assert_valid()
    (fault,) = run.verdict.faults
    assert (fault["effective"], fault["healed"]) == (True, True)
    if not lost:
        assert run.anomalies["lost"].count == 0
    assert theirs.topics() == [], "its topics are gone"


@pytest.mark.parametrize(
    "scenario",
    [
        "kafka/kill-leader:acks-one",
        "kafka/kill-leader:acks-all",
        "kafka/rolling-restart",
        "kafka/isolate-leader:acks-one",
        "kafka/isolate-leader:acks-all",
    ],
)
def test_a_scenario_of_a_lab_has_the_same_verdict_on_their_hosts(theirs: Theirs, chaos: Any, scenario: str) -> None:
    (written,) = find(scenario)
    given = written.content
    before = theirs.machines.listing()

    run = chaos(**{**given, "cluster": _with_hosts(theirs, topic=given["cluster"].get("topic", {}))})

    run.assert_valid()
    assert all(fault["effective"] and fault["healed"] for fault in run.verdict.faults)
    assert theirs.machines.listing() == before


def test_their_disk_is_filled(theirs: Theirs, chaos: Any) -> None:
    run = chaos(
        cluster=_with_hosts(theirs, topic={"min.insync.replicas": 2}),
        workload={"kind": "log", "rate": 500, "producer": {"acks": "all"}, "duration": "12s"},
        faults=[{"at": "3s", "inject": "disk-full", "on": "leader", "for": "4s"}],
    )

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


def test_a_leader_that_is_cut_off_does_not_say_who_leads(theirs: Theirs, chaos: Any) -> None:
    """Clients still reach it, and it goes on believing that it leads."""
    run = chaos(
        cluster=_with_hosts(theirs, topic={"min.insync.replicas": 2}),
        workload={"kind": "log", "rate": 200, "producer": {"acks": "all"}, "duration": "18s"},
        faults=[{"at": "3s", "inject": "partition", "on": "leader", "peers": "hosts", "for": "12s"}],
    )

    run.assert_valid()
    (fault,) = run.verdict.faults
    led = [row for row in read_table(run.folder / "placements.parquet").to_pylist() if row["role"] == "leader"]
    changed = next(row for row in led if row["host"] != led[0]["host"])
    assert changed["at_ns"] / 1e6 - fault["at_ms"] < 9000, "Kafka elects after 3 s"


def test_a_group_and_transactions_leave_nothing(theirs: Theirs, chaos: Any) -> None:
    attach = _attached(theirs, prefix="team-a-")
    load = {"producers": 1, "consumers": 2, "rate": 500, "duration": "5s"}

    chaos(cluster=attach, workload={"kind": "log", "consumption": "group", "partitions": 3, **load}).assert_valid()
    chaos(cluster=attach, workload={"kind": "transactions", **load}).assert_valid()

    admin = theirs.admin()  # a client that is dropped meanwhile never answers
    assert [group.group_id for group in admin.list_consumer_groups(request_timeout=10).result().valid] == []
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


def test_a_refused_login_is_told(theirs: Theirs, chaos: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "wrong")

    with pytest.raises(Exception, match=r"no broker answers at .*uthentication") as refused:
        chaos(cluster=_attached(theirs), workload={"kind": "log", "duration": "2s"})

    assert "wrong" not in str(refused.value)


def test_secrets_are_in_no_file_of_a_run(theirs: Theirs, chaos: Any, capfd: pytest.CaptureFixture[str]) -> None:
    run = chaos(cluster=_with_hosts(theirs), workload={"kind": "log", "rate": 200, "duration": "2s"})

    run.assert_valid()
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
    assert "env: KAFKA_PASSWORD" in (run.folder / "scenario.yaml").read_text()
    assert PASSWORD not in run.summary + "".join(capfd.readouterr())


def _changed(theirs: Theirs, **keys: Any) -> dict[str, Any]:
    given = theirs.inventory
    return {**given, "defaults": {**given["defaults"], **keys}}


def test_refusals_name_host_and_remedy(theirs: Theirs, chaos: Any, tmp_path: Path) -> None:
    (tmp_path / "nobody").write_text("")
    mine = tmp_path / "mine"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(mine)], check=True)

    def refused(inventory: dict[str, Any], why: str, **fault: Any) -> None:
        faults = [{"at": "1s", "inject": "partition", "on": "k1", "for": "1s", **fault}]
        with pytest.raises(Exception, match=why):
            chaos(
                cluster=_attached(theirs, inventory=inventory),
                workload={"kind": "log", "duration": "3s"},
                faults=faults,
            )

    every = theirs.inventory
    refused(
        _changed(theirs, known_hosts=str(tmp_path / "nobody")), r"hosts\.k1: its host key is not known; log in once"
    )
    refused(_changed(theirs, key=str(tmp_path / "gone")), r"hosts\.k1\.key: .*gone: there is no such file")
    refused(_changed(theirs, key=str(mine)), r"hosts\.k2: it refuses the login; check user and key")
    refused(_changed(theirs, become="none"), r"hosts\.k3: the user is not root; leave out become: none")
    refused(every, r"faults\.0\.on: .*'k9'", on="k9")
    refused(every, "clock-jump .*these hosts cannot do|works in a local lab only", inject="clock-jump", by="1h")
    refused(every, "works in a local lab only", inject="crash-loop")
    two = {**every, "hosts": {name: every["hosts"][name] for name in ("k1", "k2")}}
    refused(two, r"hosts: the cluster has 3 brokers|none is that of node 3 at ")
    theirs.machines.ssh("k2", "sudo mv /usr/sbin/nft /usr/sbin/nft.away")
    refused(every, r"hosts\.k2: has no nft, which partition needs; install it")
    theirs.machines.ssh("k2", "sudo mv /usr/sbin/nft.away /usr/sbin/nft")
    theirs.machines.ssh("k1", "sudo mkdir -p /run/chaoskit && echo other 12ab | sudo tee /run/chaoskit/used-by")
    refused(every, r"hosts\.k1: a run of chaoskit on other uses it")
    theirs.machines.ssh("k1", "sudo rm -r /run/chaoskit")
    rule = "/etc/sudoers.d/deploy"
    theirs.machines.ssh("k2", f"echo 'deploy ALL=(ALL) NOPASSWD: /bin/sed' | sudo tee {rule}")
    refused(every, r"hosts\.k2: sudo: .*allow it without a password")
    theirs.machines.ssh("k2", f"sudo sed -i 's#/bin/sed#ALL#' {rule}")


@pytest.mark.parametrize("kinds", [("kill", "pause", "partition"), ("disk-full", "packet-loss", "half-open")])
@pytest.mark.parametrize("how", ["switch", "heal"])
def test_a_killed_harness_leaves_their_hosts_as_they_were(
    theirs: Theirs, tmp_path: Path, how: str, kinds: tuple[str, ...]
) -> None:
    before = theirs.machines.listing()
    inventory = tmp_path / "hosts.yaml"
    inventory.write_text(yaml.dump(theirs.inventory))
    faults = [{"at": "1s", "for": "90s", "inject": kind, "on": f"k{number}"} for number, kind in enumerate(kinds, 1)]
    scenario = {"name": "killed", "workload": {"kind": "log", "rate": 10, "duration": "100s"}, "faults": faults}
    (tmp_path / "killed.yaml").write_text(yaml.dump({**scenario, "cluster": _attached(theirs, inventory="hosts.yaml")}))
    chaoskit = [str(Path(sys.executable).with_name("chaoskit"))]
    with (tmp_path / "log").open("wb") as log:
        harness = subprocess.Popen(
            [*chaoskit, "run", str(tmp_path / "killed.yaml"), "--yes", "--store", str(tmp_path / "runs")],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    log_of = (tmp_path / "log").read_text
    _await(lambda: all(f"{kind} on k" in log_of() for kind in kinds), 60, log_of)
    os.kill(harness.pid, signal.SIGKILL)
    harness.wait()
    assert theirs.machines.listing() != before

    if how == "heal":
        argv = [*chaoskit, "heal", "--hosts", str(inventory)]
        healed = subprocess.run(argv, text=True, capture_output=True, check=True).stdout
        assert [f"fault {number}-{kind} of" in healed for number, kind in enumerate(kinds)] == [True] * 3
    _await(lambda: _undone(theirs), _SWITCHED_S, lambda: str(theirs.machines.listing()))
    output = subprocess.run([*chaoskit, "heal"], text=True, capture_output=True, check=True).stdout
    assert "topic" in output
    _await(lambda: theirs.machines.listing() == before, 30, lambda: f"{before}\n{theirs.machines.listing()}")
    assert theirs.topics() == []


def _undone(theirs: Theirs) -> bool:
    running = [theirs.machines.ssh(name, "ps -C java -o stat= || true").split() for name in theirs.machines.names]
    rules = [theirs.machines.ssh(name, "sudo nft list ruleset") for name in theirs.machines.names]
    full = [
        theirs.machines.ssh(name, "sudo ls -A /var/lib/system/.chaoskit 2> /dev/null || true")
        for name in theirs.machines.names
    ]
    return all(states and not states[0].startswith("T") for states in running) and not any([*rules, *full])


def _await(condition: Callable[[], bool], timeout_s: float, state: Callable[[], str]) -> None:
    assert wait_until(condition, timeout_s, every_s=0.5), state()


def test_a_run_stops_when_sends_are_not_acknowledged(theirs: Theirs, chaos: Any) -> None:
    run = chaos(
        cluster=_with_hosts(theirs, topic={"min.insync.replicas": 2}),
        workload={"kind": "log", "rate": 500, "producer": {"acks": "all"}, "duration": "60s"},
        faults=[{"at": "3s", "inject": "pause", "on": ["k1", "k2"], "for": "50s"}],
        stop_when={"unavailable": "4s"},
    )

    assert run.verdict.verdict == "unknown"
    assert any("no send was acknowledged for 4s" in reason for reason in run.verdict.reasons)
    (fault,) = run.verdict.faults
    assert fault["healed"]
    assert fault["undone_at_ms"] - fault["at_ms"] < 20_000


def test_what_exists_already_is_refused_and_kept(theirs: Theirs, chaos: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    admin, name = theirs.admin(), "team-b-drawn-orders"
    admin.create_topics([NewTopic(name, 1, 3)])[name].result()
    monkeypatch.setattr("chaoskit.run.deployment.secrets.token_hex", lambda _: "drawn")

    with pytest.raises(Exception, match=r"cluster\.prefix: team-b-drawn-orders exists already, and is not this run's"):
        chaos(cluster=_attached(theirs, prefix="team-b-"), workload={"kind": "log", "duration": "2s"})

    assert theirs.topics() == [name]
    admin.delete_topics([name])[name].result()
    assert wait_until(lambda: theirs.topics() == [], 20)
