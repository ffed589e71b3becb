"""Pulsar under faults that no ready-made scenario makes: who fails, by what, while clients do what."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

SUBSCRIPTION = {"kind": "subscription", "consumers": 3, "rate": 1000, "keys": 20, "crash_every": "3s"}
SUBSCRIPTION |= {"producer": {"batching_enabled": False}}
PICKY = {"nack_every": 50, "leave_every": 40}


@pytest.mark.parametrize("fault", ["pause", "power-cut"])
def test_nothing_is_lost_when_the_owner_fails(pulsar: Any, fault: str) -> None:
    run = pulsar(faults=[{"at": "3s", "inject": fault, "on": "owner", "for": "4s"}])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["reordered"].count == 0


@pytest.mark.parametrize("role", ["ensemble", "outside", "zookeeper-leader", "load-manager-leader"])
def test_roles_are_found_and_their_failure_loses_nothing(pulsar: Any, role: str) -> None:
    run = pulsar(faults=[{"at": "3s", "inject": "kill", "on": role, "for": "3s"}])

    run.assert_valid()
    assert len(run.verdict.faults[0]["targets"]) == (3 if role == "ensemble" else 1)
    assert run.anomalies["lost"].count == 0


def test_roles_on_hosts_of_their_own(pulsar: Any) -> None:
    cluster = {"hosts": 6, "roles": {"zookeepers": 1, "bookies": 3, "brokers": 2}}
    run = pulsar(cluster=cluster, faults=[{"at": "3s", "inject": "kill", "on": "owner", "for": "3s"}])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


@pytest.mark.parametrize(
    "load",
    [
        {"subscription": "key-shared", **PICKY},
        {"subscription": "failover", "acks": "cumulative"},
        {"subscription": "exclusive", **PICKY},
    ],
    ids=lambda load: load["subscription"],
)
def test_consumers_that_end_leave_nothing_behind(pulsar: Any, load: dict[str, Any]) -> None:
    at_once = {"config": {"broker": {"activeConsumerFailoverDelayTimeMillis": 0}}}
    run = pulsar(cluster=at_once, workload={**SUBSCRIPTION, **load})

    run.assert_valid()
    assert run.anomalies["unacked-vanished"].count == 0
    assert run.verdict.counts["received"] > run.verdict.counts["acked"]
