"""What Pulsar keeps: every "none lost" has a run with weaker settings, under the same fault, that does lose."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chaos

POWER_CUT_ALL = {"at": "4s", "inject": "power-cut", "on": "all", "for": "1s"}
KILL_OWNER = {"at": "3s", "inject": "kill", "on": "owner", "for": "4s"}


def test_power_cut_on_all_loses_nothing_that_the_journal_has(pulsar: Any) -> None:
    run = pulsar(bookie={"journalSyncData": True}, faults=[POWER_CUT_ALL])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["reordered"].count == 0


def test_power_cut_on_all_loses_what_the_os_had_not_written(pulsar: Any) -> None:
    run = pulsar(bookie={"journalSyncData": False}, faults=[POWER_CUT_ALL], expect={"lost": "some"})

    run.assert_valid()


@pytest.mark.long
@pytest.mark.parametrize("fault", ["kill", "pause", "power-cut"])
def test_nothing_is_lost_when_the_owner_fails(pulsar: Any, fault: str) -> None:
    run = pulsar(faults=[{"at": "3s", "inject": fault, "on": "owner", "for": "4s"}])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["reordered"].count == 0


@pytest.mark.long
@pytest.mark.parametrize("role", ["ensemble", "outside", "zookeeper-leader", "load-manager-leader"])
def test_roles_are_found_and_their_failure_loses_nothing(pulsar: Any, role: str) -> None:
    run = pulsar(cluster={"hosts": 4}, faults=[{"at": "3s", "inject": "kill", "on": role, "for": "3s"}])

    run.assert_valid()
    assert len(run.verdict.faults[0]["targets"]) == (3 if role == "ensemble" else 1)
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
def test_roles_on_hosts_of_their_own(pulsar: Any) -> None:
    cluster = {"hosts": 6, "roles": {"zookeepers": 1, "bookies": 3, "brokers": 2}}
    run = pulsar(cluster=cluster, faults=[{"at": "3s", "inject": "kill", "on": "owner", "for": "3s"}])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
def test_members_of_a_group_read_everything_at_least_once(pulsar: Any) -> None:
    load = {"producers": 2, "consumers": 2, "consumption": "group", "partitions": 4, "keys": 16}
    run = pulsar(workload=load, faults=[KILL_OWNER])

    run.assert_valid()
    assert run.verdict.counts["received"] > 0
    assert run.anomalies["lost"].count == 0
