"""Faults of networks, disks and clocks on real Kafka: each with a control in which weaker settings lose."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chaos

SAFE = {"min.insync.replicas": 2}


@pytest.mark.parametrize(("acks", "lost"), [("all", "none"), (1, "some")])
def test_a_leader_that_no_follower_hears_loses_with_acks_of_one_only(kafka: Any, acks: Any, lost: str) -> None:
    run = kafka(
        topic=SAFE,
        workload={"rate": 1000, "duration": "14s", "producer": {"acks": acks, "max.in.flight": 1}},
        faults=[{"at": "3s", "inject": "partition", "on": "leader", "peers": "hosts", "direction": "out", "for": "6s"}],
        expect={"lost": lost},
    )

    run.assert_valid()


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "lost"),
    [
        ({"at": "3s", "inject": "fsync-lies", "on": "all", "for": "4s"}, "some"),
        ({"at": "6s", "inject": "power-cut", "on": "all", "for": "1s"}, "none"),
    ],
)
def test_a_disk_that_lies_about_fsync_loses_what_an_honest_one_keeps(kafka: Any, fault: Any, lost: str) -> None:
    run = kafka(
        topic={**SAFE, "flush.messages": 1},
        cluster={"disk": {"kind": "programmable", "size": "1GiB"}},
        workload={"rate": 300, "duration": "10s"},
        faults=[fault],
        expect={"lost": lost},
    )

    run.assert_valid()


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
