"""What Kafka keeps: the rows of docs/durability.md, each with its control.

Every "none lost" has a run with weaker settings, under the same fault or a worse one, that does lose.
"""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chaos

SAFE = {"min.insync.replicas": 2}
FLUSHED = {**SAFE, "flush.messages": 1}
POWER_CUT_ALL = {"at": "4s", "inject": "power-cut", "on": "all", "for": "1s"}


@pytest.mark.parametrize("fault", ["kill", "pause", "power-cut"])
def test_acks_all_loses_nothing_when_the_leader_fails(kafka: Any, fault: str) -> None:
    run = kafka(topic=SAFE, faults=[{"at": "3s", "inject": fault, "on": "leader", "for": "4s"}])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["duplicate"].count == 0
    assert run.anomalies["reordered"].count == 0


@pytest.mark.long
def test_acks_all_loses_nothing_in_a_rolling_restart(kafka: Any) -> None:
    run = kafka(topic=SAFE, faults=[{"at": "2s", "inject": "rolling-restart", "on": "all"}])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
def test_acks_all_with_consumers_in_a_group_while_brokers_restart(kafka: Any) -> None:
    load = {"producers": 2, "consumers": 2, "consumption": "group", "partitions": 4, "keys": 16, "duration": "12s"}
    run = kafka(topic=SAFE, workload=load, faults=[{"at": "3s", "inject": "restart", "on": "one"}])

    run.assert_valid()
    assert run.verdict.counts["received"] > 0
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
@pytest.mark.parametrize("role", ["controller", "coordinator", "isr"])
def test_roles_are_found_and_their_failure_loses_nothing(kafka: Any, role: str) -> None:
    load = {"consumption": "group", "partitions": 3, "duration": "9s"}
    run = kafka(topic=SAFE, workload=load, faults=[{"at": "3s", "inject": "restart", "on": role}])

    run.assert_valid()
    assert len(run.verdict.faults[0]["targets"]) == (3 if role == "isr" else 1)
    assert run.anomalies["lost"].count == 0


def test_power_cut_on_all_loses_what_the_os_had_not_written(kafka: Any) -> None:
    run = kafka(topic=SAFE, faults=[POWER_CUT_ALL], expect={"lost": "some"})

    run.assert_valid()


def test_power_cut_on_all_loses_nothing_that_was_flushed(kafka: Any) -> None:
    run = kafka(topic=FLUSHED, faults=[POWER_CUT_ALL])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


def test_control_the_same_loss_is_invalid_when_none_is_expected(kafka: Any) -> None:
    run = kafka(topic=SAFE, faults=[POWER_CUT_ALL], expect={"lost": "none"})

    assert run.verdict.verdict == "invalid"
    with pytest.raises(AssertionError, match=r"lost: .* NOT ALLOWED"):
        run.assert_valid()


def test_acks_one_loses_what_no_follower_had_when_the_leader_dies(kafka: Any) -> None:
    """The followers stand still, still in sync, while the leader alone acknowledges; then it dies."""
    faults = [
        {"at": "3s", "inject": "pause", "on": "followers", "for": "2s"},
        {"at": "4s", "inject": "kill", "on": "leader", "for": "5s"},
    ]
    run = kafka(workload={"producer": {"acks": 1}}, faults=faults)

    run.assert_valid()
    assert run.anomalies["lost"].count > 0
    assert run.anomalies["lost"].allowed


def test_acks_all_loses_nothing_under_the_same_faults(kafka: Any) -> None:
    faults = [
        {"at": "3s", "inject": "pause", "on": "followers", "for": "2s"},
        {"at": "4s", "inject": "kill", "on": "leader", "for": "5s"},
    ]
    run = kafka(topic=SAFE, faults=faults)

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
def test_acks_zero_loses_when_the_leader_dies(kafka: Any) -> None:
    faults = [{"at": "3s", "inject": "kill", "on": "leader", "for": "4s"}]
    run = kafka(workload={"producer": {"acks": 0}}, faults=faults)

    run.assert_valid()
    assert run.anomalies["lost"].count > 0
    assert run.anomalies["offset-conflict"].count == 0, "without acknowledgements no position is known"


SHRUNK = {"replica.lag.time.max.ms": 1500}
ONE_CONTROLLER = {"hosts": 4, "controllers": 1, "config": SHRUNK}
"""A controller on a host of its own goes on while two of three brokers stand still."""


@pytest.mark.long
def test_power_cut_on_the_last_in_sync_replica_loses(kafka: Any) -> None:
    faults = [
        {"at": "2s", "inject": "pause", "on": "followers", "for": "9s"},
        {"at": "8s", "inject": "power-cut", "on": "leader", "for": "1s"},
    ]
    topic = {"min.insync.replicas": 1}
    run = kafka(cluster=ONE_CONTROLLER, topic=topic, workload={"duration": "12s"}, faults=faults)

    run.assert_valid()
    assert run.anomalies["lost"].count > 0


@pytest.mark.long
@pytest.mark.parametrize("unclean", [True, False])
def test_unclean_election_loses_what_out_of_sync_followers_lack(kafka: Any, unclean: bool) -> None:
    faults = [
        {"at": "2s", "inject": "pause", "on": "followers", "for": "8s"},
        {"at": "9s", "inject": "kill", "on": "leader", "for": "10s"},
    ]
    topic = {"min.insync.replicas": 1, "unclean.leader.election.enable": unclean}
    load = {"duration": "12s", "producer": {"acks": 1}}
    run = kafka(cluster=ONE_CONTROLLER, topic=topic, workload=load, faults=faults)

    run.assert_valid()
    assert (run.anomalies["lost"].count > 0) == unclean


SLOW_ACKS = [{"at": "3s", "inject": "pause", "on": "followers", "for": "3s"}]
"""Nothing is acknowledged while the followers stand still: requests time out and are sent again."""


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_retry_is_written_twice_unless_the_producer_is_idempotent(kafka: Any, idempotent: bool) -> None:
    producer = {"acks": "all", "enable.idempotence": idempotent, "request.timeout.ms": 1000}
    run = kafka(topic=SAFE, workload={"producer": producer}, faults=SLOW_ACKS)

    run.assert_valid()
    assert (run.anomalies["duplicate"].count > 0) == (not idempotent)
