"""Systems' own clients under faults: what they lose and keep, and that client faults reach their JVMs."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_GROUPS = {
    "rate": 1000, "producers": 2, "consumers": 4, "partitions": 3, "consumption": "group", "groups": 2,
    "duration": "26s",
}  # fmt: skip
_CLIENT_FAULTS = [
    {"at": "2s", "inject": "client-crash", "on": "producer-0", "for": "1s"},
    {"at": "6s", "inject": "client-disconnect", "on": "producer-1"},
    {"at": "8s", "inject": "client-pause", "on": "consumer-0", "for": "13s"},
    {"at": "22s", "inject": "client-crash", "on": "consumer-1", "for": "1s"},
]
_FAULTS = [
    {"at": "3s", "inject": "pause", "on": "followers", "for": "2s"},
    {"at": "4s", "inject": "kill", "on": "leader", "for": "5s"},
]


@pytest.mark.parametrize(("topic", "acks", "lost"), [({}, 1, True), ({"min.insync.replicas": 2}, "all", False)])
def test_the_leader_is_killed(kafka: Any, topic: dict[str, Any], acks: str | int, lost: bool) -> None:
    run = kafka(cluster={"clients": "java"}, topic=topic, workload={"producer": {"acks": acks}}, faults=_FAULTS)

    run.assert_valid()
    assert (run.anomalies["lost"].count > 0) is lost
    assert run.anomalies["duplicate"].count == 0


@pytest.mark.parametrize("sync", [False, True])
def test_the_power_of_all_bookies_is_cut(pulsar: Any, sync: bool) -> None:
    run = pulsar(
        cluster={
            "clients": "java",
            "config": {"bookie": {"journalSyncData": sync, "journalPageCacheFlushIntervalMSec": 10_000}},
        },
        faults=[{"at": "6s", "inject": "power-cut", "on": "all", "for": "2s"}],
    )

    run.assert_valid()
    assert (run.anomalies["lost"].count > 0) is not sync


def test_groups_survive_the_faults_of_kafkas_own_clients(kafka: Any) -> None:
    run = kafka(cluster={"clients": "java"}, topic={"min.insync.replicas": 2}, workload=_GROUPS, faults=_CLIENT_FAULTS)

    _nothing_is_missing(run)
    assert run.anomalies["duplicate"].count == 0


def test_transactions_of_kafkas_own_client_survive_crashes_and_zombies(kafka: Any) -> None:
    load = {"kind": "transactions", "producers": 2, "partitions": 3, "rate": 200, "duration": "30s"}
    faults = [
        {"at": "3s", "inject": "kill", "on": "transaction-coordinator", "for": "2s"},
        {"at": "12s", "inject": "client-crash", "on": "producer-0", "for": "1s"},
        {"at": "20s", "inject": "client-hijack", "on": "producer-1", "for": "3s"},
    ]
    run = kafka(cluster={"clients": "java"}, topic={"min.insync.replicas": 2}, workload=load, faults=faults)

    run.assert_valid()
    for anomaly in ("lost", "torn-transaction", "aborted-read", "zombie-write"):
        assert run.anomalies[anomaly].count == 0


def test_groups_survive_the_faults_of_pulsars_own_clients(pulsar: Any) -> None:
    run = pulsar(cluster={"clients": "java", "deduplication": True}, workload=_GROUPS, faults=_CLIENT_FAULTS)

    _nothing_is_missing(run)
    assert run.anomalies["duplicate"].count == 0


def _nothing_is_missing(run: Any) -> None:
    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert [fault["effective"] for fault in run.verdict.faults] == [True] * 4
    assert run.verdict.liveness["group"]["behind"] == [], "both groups received everything"


def test_clients_on_several_seats_do_not_hear_what_their_jvms_print(chaos: Any) -> None:
    """Two processes of two seats may have one number, and a JVM complains of that on standard output."""
    run = chaos(
        cluster={"system": "kafka", "hosts": 1, "seats": 2, "clients": "java"},
        workload={"kind": "log", "rate": 500, "duration": "8s"},
    )

    run.assert_valid()
    assert run.verdict.counts["acked"] > 3000
