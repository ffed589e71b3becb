"""Kafka under faults that no ready-made scenario makes: who fails, by what, while clients do what.

What must be kept, and the controls that lose, are the scenarios: test_scenarios.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chaoskit.base.errors import RunFailed
from chaoskit.run.client import Client

pytestmark = pytest.mark.chaos

SAFE = {"min.insync.replicas": 2}


@pytest.mark.long
@pytest.mark.parametrize("fault", ["pause", "power-cut"])
def test_acks_all_loses_nothing_when_the_leader_fails(kafka: Any, fault: str) -> None:
    run = kafka(topic=SAFE, faults=[{"at": "3s", "inject": fault, "on": "leader", "for": "4s"}])

    run.assert_valid()
    for anomaly in ("lost", "duplicate", "reordered"):
        assert run.anomalies[anomaly].count == 0


@pytest.mark.long
@pytest.mark.parametrize("role", ["controller", "coordinator", "isr"])
def test_roles_are_found_and_their_failure_loses_nothing(kafka: Any, role: str) -> None:
    load = {"consumption": "group", "partitions": 3, "duration": "9s"}
    run = kafka(topic=SAFE, workload=load, faults=[{"at": "3s", "inject": "restart", "on": role}])

    run.assert_valid()
    assert len(run.verdict.faults[0]["targets"]) == (3 if role == "isr" else 1)
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
def test_a_group_and_its_producers_survive_the_faults_of_clients(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        workload={
            "rate": 300, "producers": 2, "consumers": 2, "partitions": 3, "consumption": "group",
            "duration": "19s", "consumer": {"session.timeout.ms": 6000},
        },
        faults=[
            {"at": "2s", "inject": "client-crash", "on": "producer-0", "for": "1s"},
            {"at": "4s", "inject": "client-disconnect", "on": "producer-1"},
            {"at": "6s", "inject": "client-pause", "on": "consumer-0", "for": "8s"},
            {"at": "15s", "inject": "client-crash", "on": "consumer-1", "for": "1s"},
        ],
    )  # fmt: skip

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["duplicate"].count == 0
    assert [fault["effective"] for fault in run.verdict.faults] == [True] * 4
    assert run.verdict.liveness["group"]["behind"] == [], "the group received everything"


@pytest.mark.long
def test_slow_networks_and_disks_lose_nothing(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        workload={"rate": 1000, "partitions": 3, "duration": "30s"},
        faults=[
            {"at": "2s", "inject": "packet-delay", "on": "leader", "delay": "50ms", "jitter": "10ms", "for": "3s"},
            {"at": "7s", "inject": "packet-loss", "on": "follower", "percent": 30, "for": "3s"},
            {"at": "12s", "inject": "disk-slow", "on": "leader", "write_bandwidth": "500KiB", "for": "3s"},
            {"at": "17s", "inject": "disk-freeze", "on": "follower", "for": "2s"},
            {"at": "22s", "inject": "clock-jump", "on": "one", "by": "1h", "for": "3s"},
        ],
    )

    run.assert_valid()
    assert [fault["effective"] for fault in run.verdict.faults] == [True] * 5


@pytest.mark.long
def test_a_zombie_is_fenced(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        workload={"kind": "transactions", "partitions": 3, "rate": 200, "duration": "12s"},
        faults=[{"at": "3s", "inject": "client-hijack", "on": "producer-0", "for": "3s"}],
    )

    run.assert_valid()
    assert "_FENCED" in _errors(run.folder, "producer-0")
    assert _errors(run.folder, "producer-0#1") <= {"aborted on purpose", "_PURGE_QUEUE", "_PURGE_INFLIGHT"}


@pytest.mark.long
def test_elections_and_a_removed_broker_lose_nothing(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        cluster={"hosts": 4},
        workload={"rate": 500, "partitions": 2, "duration": "45s"},
        faults=[
            {"at": "2s", "inject": "elect-leader", "on": "leader"},
            {"at": "15s", "inject": "remove-broker", "on": "n2", "for": "2s", "at_most": 1},
        ],
    )

    run.assert_valid()
    election, removal = run.verdict.faults
    assert "no longer leads log-0/" in election["evidence"]
    assert "replicas moved off n2; stopped there" in removal["evidence"]
    assert "replicas moved back to n2" in removal["evidence"]


@pytest.mark.long
def test_a_rolling_upgrade_under_load_loses_nothing(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        cluster={"version": "4.0.0"},
        workload={"rate": 500, "duration": "20s"},
        faults=[{"at": "2s", "inject": "rolling-upgrade", "on": "all", "version": "4.1.1"}],
    )

    run.assert_valid()
    assert "from 4.0.0 to 4.1.1; metadata.version 4.1" in run.verdict.faults[0]["evidence"]


def _errors(folder: Path, client: str) -> set[str]:
    rows = pq.read_table(folder / "operations.parquet").to_pylist()
    return {row["error"] for row in rows if row["client"] == client and row["error"]}


@pytest.mark.long
def test_without_a_history_the_same_messages_are_lost(kafka: Any) -> None:
    faults = [
        {"at": "3s", "inject": "pause", "on": "followers", "for": "2s"},
        {"at": "4s", "inject": "kill", "on": "leader", "for": "4s"},
    ]
    load = {"partitions": 2, "rate": "max", "producer": {"acks": 1}}
    run = kafka(workload=load, faults=faults, record="latency", expect={"lost": "some"})

    run.assert_valid()
    kept = sum(run.verdict.audit["end_positions"].values())
    probes = 2
    assert run.anomalies["lost"].count == run.verdict.counts["acked"] + probes - kept > 0
    assert run.verdict.latency["under_faults"]["send"]["p99_ms"] > run.verdict.latency["quiet"]["send"]["p99_ms"]
    assert not list((run.folder / "wal").glob("*.wal"))


@pytest.mark.long
def test_a_seated_client_that_is_not_back_after_the_boot_makes_the_run_unknown(chaos: Any, monkeypatch: Any) -> None:
    def fails(client: Client) -> None:
        raise RunFailed(f"{client.name} did not start again")

    monkeypatch.setattr(Client, "start_next", fails)
    run = chaos(
        cluster={"system": "kafka", "hosts": 1, "seats": 2},
        workload={"kind": "log", "rate": 500, "duration": "8s"},
        faults=[{"at": "3s", "inject": "power-cut", "on": "n2", "for": "2s"}],
    )

    assert run.verdict.verdict == "unknown"
    assert any("did not start again" in reason for reason in run.verdict.reasons)
