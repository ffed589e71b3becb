"""Clients that crash, sleep past their session and lose their connections: nothing is lost, groups go on."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chaos

SAFE = {"min.insync.replicas": 2}


def test_a_group_and_its_producers_survive_the_faults_of_clients(kafka: Any) -> None:
    run = kafka(
        topic=SAFE,
        workload={
            "rate": 1000, "producers": 2, "consumers": 2, "partitions": 3, "consumption": "group",
            "duration": "24s",
        },
        faults=[
            {"at": "2s", "inject": "client-crash", "on": "producer-0", "for": "1s"},
            {"at": "4s", "inject": "client-disconnect", "on": "producer-1"},
            {"at": "6s", "inject": "client-pause", "on": "consumer-0", "for": "13s"},
            {"at": "8s", "inject": "client-crash", "on": "producer-0", "for": "1s"},
            {"at": "20s", "inject": "client-crash", "on": "consumer-1", "for": "1s"},
        ],
    )  # fmt: skip

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["duplicate"].count == 0
    assert [fault["effective"] for fault in run.verdict.faults] == [True] * 5
    assert run.verdict.counts["acked"] > 15_000


@pytest.mark.long
def test_a_reset_connection_duplicates_without_idempotence_only(kafka: Any) -> None:
    """The control: at-least-once delivery, resets and a killed leader; idempotence makes it exactly once."""
    faults = [
        {"from": "2s", "to": "14s", "every": "500ms", "inject": "reset-connections", "on": "leader"},
        {"at": "8s", "inject": "kill", "on": "follower", "for": "1s"},
    ]
    load = {"rate": 5000, "duration": "16s"}

    once = kafka(topic=SAFE, workload=load, faults=faults)
    twice = kafka(
        topic=SAFE, workload={**load, "producer": {"enable.idempotence": False}}, faults=faults,
        expect={"duplicate": "some"},
    )  # fmt: skip

    once.assert_valid()
    assert once.anomalies["duplicate"].count == 0
    twice.assert_valid()
