"""Transactions under faults, and a producer whose name is taken over: with the controls that must fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.chaos

SAFE = {"min.insync.replicas": 2}
LOAD = {"kind": "transactions", "partitions": 3, "rate": 200}
HIJACK = {"at": "3s", "inject": "client-hijack", "on": "producer-0", "for": "3s"}


def _errors(folder: Path, client: str) -> set[str]:
    table = pq.read_table(folder / "operations.parquet")
    return {row["error"] for row in table.to_pylist() if row["client"] == client and row["error"]}


def test_a_zombie_is_fenced_and_writes_nothing(kafka: Any) -> None:
    run = kafka(topic=SAFE, workload={**LOAD, "duration": "12s"}, faults=[HIJACK])

    run.assert_valid()
    assert run.anomalies["zombie-write"].count == 0
    assert run.verdict.faults[0]["effective"]
    assert "_FENCED" in _errors(run.folder, "producer-0")
    assert _errors(run.folder, "producer-0#1") <= {"aborted on purpose", "_PURGE_QUEUE", "_PURGE_INFLIGHT"}


@pytest.mark.long
def test_a_zombie_with_an_id_of_its_own_writes_on(kafka: Any) -> None:
    own = {"transactional.id": "chaoskit-{producer}-{incarnation}"}
    run = kafka(
        topic=SAFE, workload={**LOAD, "duration": "12s", "producer": own}, faults=[HIJACK],
        expect={"zombie-write": "some", "lost": "none"},
    )  # fmt: skip

    run.assert_valid()
    assert run.anomalies["zombie-write"].allowed


@pytest.mark.long
def test_transactions_are_whole_when_coordinator_leader_and_producer_die(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        workload={**LOAD, "producers": 2, "consumers": 2, "duration": "36s"},
        faults=[
            {"at": "3s", "inject": "kill", "on": "leader", "for": "2s"},
            {"at": "15s", "inject": "kill", "on": "transaction-coordinator", "for": "2s"},
            {"at": "27s", "inject": "client-crash", "on": "producer-0", "for": "1s"},
        ],
    )

    run.assert_valid()
    for anomaly in ("lost", "torn-transaction", "aborted-read", "precommitted-read", "zombie-write"):
        assert run.anomalies[anomaly].count == 0
    rows = pq.read_table(run.folder / "operations.parquet").to_pylist()
    healed_ns = max(fault["healed_at_ms"] for fault in run.verdict.faults) * 1_000_000
    for client in ("producer-0#1", "producer-1"):
        commits = [row for row in rows if row["client"] == client and row["f"] == "end" and row["outcome"] == "ok"]
        assert max(row["start_ns"] for row in commits) > healed_ns
    last = [row for row in rows if row["client"] == "producer-0" and row["f"] != "send"][-1]
    assert last["f"] == "begin" or (last["f"], last["outcome"]) == ("end", "info")


@pytest.mark.long
def test_who_reads_uncommitted_reads_what_a_dead_producer_left(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        workload={**LOAD, "messages": 2000, "abort_every": 0, "consumer": {"isolation.level": "read_uncommitted"}},
        faults=[{"at": "3s", "inject": "client-crash", "on": "producer-0", "for": "1s"}],
        expect={"aborted-read": "some", "lost": "none"},
    )

    run.assert_valid()
    assert run.anomalies["aborted-read"].allowed
