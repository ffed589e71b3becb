"""The table of Kafka's guarantees, line by line: settings and faults give what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import guaranteed
import pytest
from guaranteed import effect

from chaoskit.contract.guarantees.guarantee import Allowance, Declared, Effect
from chaoskit.contract.installed import anomalies
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group, Resends, Transactions
from checkers.subscription.subscriptions import SubscriptionChecker
from clusters.kafka.guarantees.given_up import GIVEN_UP
from clusters.kafka.guarantees.late_ends import LATE_END
from clusters.kafka.settings import KafkaOptions


def _declared(
    topic: dict[str, Any] | None = None,
    producer: dict[str, Any] | None = None,
    *,
    config: dict[str, Any] | None = None,
    consumer: dict[str, Any] | None = None,
    replication: int = 3,
    grouped: bool = False,
    **cluster: Any,
) -> Declared:
    options = KafkaOptions.model_validate({"topic": topic or {}, "config": config or {}, **cluster})
    topic_of = Topic("log-0", replication=replication)
    return Declared(options, 3, 3, (topic_of,), producer or {}, consumer or {}, (Group(),) if grouped else ())


def guarantees(declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
    return guaranteed.table("kafka", declared, effects)


ELR, NO_ELR = {"eligible.leader.replicas.version": 1}, {"eligible.leader.replicas.version": 0}

OF_SUBSCRIPTIONS = {anomaly.name for anomaly in SubscriptionChecker.anomalies}
"""Kafka has none."""

FOLLOWING = {
    "order-violation": ["reordered"],
    "late": ["truncated"],
    "dropped-as-duplicate": ["lost"],
    "resurrected": ["lost", "truncated"],
    "sequence-jump": ["lost", "duplicate", "reordered", "truncated", "redelivered"],
    "commit-regression": ["truncated"],
    "commit-beyond": ["truncated"],
    "torn-transaction": ["truncated"],
    "zombie-write": ["truncated"],
}
"""Anomalies that are allowed where one of some others is."""


def _allowed(declared: Declared, *effects: Effect) -> set[str]:
    """Return what is allowed, without what only follows, without cycles of transactions, and without subscriptions."""
    table = guarantees(declared, effects)
    return {name for name, allowance in table.items() if allowance.allowed} - {*FOLLOWING, *CYCLES, *OF_SUBSCRIPTIONS}


ALL_CUT = effect("power-cut", "n1", "n2", "n3")
ONE_CUT = effect("power-cut", "n1")
NEVER_BACK = effect("power-cut", "n1", healed_s=None)
TWO_CUT = effect("power-cut", "n1", "n2")
KILLED = effect("kill", "n1")
ROLLED = effect("rolling-restart", "n1", "n2", "n3")

SAFE = {"min.insync.replicas": 2}
FLUSHED = {**SAFE, "flush.messages": 1}
UNCLEAN = {"unclean.leader.election.enable": True}
AT_LEAST_ONCE = {"enable.idempotence": False}

CYCLES = [f"{base}{suffix}" for base in ("G0", "G1c", "G-single", "G2") for suffix in ("", "-process", "-realtime")]

BACK = {"lost", "truncated", "rewound", "skipped", "offset-conflict", "reordered"}
"""What comes with logs that go back behind what was acknowledged."""

BEHIND = {"lost", "reordered", "offset-conflict"}
"""What comes with a leader that acknowledged more than its successor has."""


@pytest.mark.parametrize("kind", ["kill", "restart", "rolling-restart", "power-cut", "pause"])
@pytest.mark.parametrize("acks", [0, "0", 1, "1"])
def test_without_acks_of_all_replicas_the_loss_of_a_leader_may_lose(acks: Any, kind: str) -> None:
    table = guarantees(_declared(FLUSHED, {"acks": acks}), [effect(kind, "n1")])

    assert table["lost"].allowed
    assert table["lost"].why.startswith(f"acks={acks}:")
    assert table["lost"].remedy.startswith("set acks=all")


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_without_a_fault_nothing_may_be_lost(acks: Any) -> None:
    assert _allowed(_declared(SAFE, {"acks": acks})) == set()


@pytest.mark.parametrize("acks", ["all", "-1", -1, None])
@pytest.mark.parametrize("fault", [KILLED, effect("kill", "n1", "n2", "n3"), ROLLED, effect("pause", "n1"), ONE_CUT])
def test_acks_of_all_with_two_in_sync_survive_processes_and_one_power_cut(acks: Any, fault: Effect) -> None:
    assert _allowed(_declared(SAFE, {"acks": acks}), fault) == set()


@pytest.mark.parametrize(
    ("declared", "effects", "allowed"),
    [
        # Power cuts: as many hosts at once as replicas must have a message, without an fsync of each message.
        (_declared(SAFE), [ALL_CUT], BACK),
        (_declared(SAFE), [TWO_CUT], BACK),
        (_declared(SAFE), [ONE_CUT], set()),
        (_declared({"min.insync.replicas": 3}), [TWO_CUT], set()),
        (_declared({"min.insync.replicas": 3}), [ALL_CUT], BACK),
        (_declared({}), [ONE_CUT], BACK),  # min.insync.replicas=1 is Kafka's default
        (_declared({"min.insync.replicas": 1}), [KILLED], set()),
        (_declared(SAFE, replication=1), [ONE_CUT], BACK),
        (_declared(FLUSHED), [ALL_CUT], set()),
        (_declared({**SAFE, "flush.messages": "1"}), [ALL_CUT], set()),
        (_declared({**SAFE, "flush.messages": 2}), [ALL_CUT], BACK),
        (_declared({**SAFE, "flush.messages": None}), [ALL_CUT], BACK),
        (_declared(SAFE, config={"log.flush.interval.messages": 1}), [ALL_CUT], set()),
        (_declared(SAFE, config={"log.flush.interval.messages": None}), [ALL_CUT], BACK),
        (_declared({"flush.messages": 9}, config={"log.flush.interval.messages": 1}), [ALL_CUT], BACK),
        (_declared(config={"min.insync.replicas": 2}), [ONE_CUT], set()),
        (_declared({"min.insync.replicas": 1}, config={"min.insync.replicas": 2}), [ONE_CUT], BACK),
        # One host after the other, the first of which was never in sync again.
        (_declared(SAFE), [ONE_CUT, effect("power-cut", "n2", start_s=16, healed_s=18)], BACK),
        # It answers again, but may lack what the others have.
        (_declared(SAFE), [ONE_CUT, effect("power-cut", "n2", start_s=12, healed_s=14)], BACK),
        (_declared(SAFE), [ONE_CUT, effect("power-cut", "n2", start_s=9, healed_s=14)], BACK),
        (_declared(SAFE), [NEVER_BACK, effect("power-cut", "n2", start_s=50, healed_s=51)], BACK | {"duplicate"}),
        # The last in-sync replica forgets its tail while the others, which have it, are away.
        (_declared(SAFE), [effect("pause", "n2", "n3"), ONE_CUT], set()),
        (_declared(SAFE), [effect("kill", "n2", "n3"), ONE_CUT], BACK),
        (_declared(SAFE, version="4.0.0"), [effect("pause", "n2", "n3"), ONE_CUT], BACK),
        (_declared(SAFE, version="4.0.0", features=ELR), [effect("pause", "n2", "n3"), ONE_CUT], set()),
        (_declared(SAFE, features=NO_ELR), [effect("pause", "n2", "n3"), ONE_CUT], BACK),
        (_declared(FLUSHED, features=NO_ELR), [effect("pause", "n2", "n3"), ONE_CUT], set()),
        (_declared(SAFE, features=NO_ELR), [effect("pause", "n2", "n3", start_s=20, healed_s=30), ONE_CUT], set()),
        (_declared(SAFE, features=NO_ELR), [ONE_CUT], set()),
        (_declared(SAFE, features=NO_ELR), [effect("clock-jump", "n2"), ONE_CUT], set()),
        # Disks that lose what was fsynced: flushing each message does not help.
        (_declared(FLUSHED), [effect("disk-wipe", "n1")], set()),
        (_declared(FLUSHED), [effect("disk-wipe", "n1", "n2")], BACK),
        (_declared(FLUSHED), [effect("fsync-lies", "n1", "n2", "n3")], BACK),
        (_declared(FLUSHED), [effect("time-travel", "n1"), effect("time-travel", "n2", start_s=30, healed_s=32)], BACK),
        (_declared(SAFE), [effect("disk-wipe", "n1"), effect("power-cut", "n2")], BACK),
        (_declared(FLUSHED), [effect("disk-wipe", "n1"), effect("power-cut", "n2")], set()),
        # A broker that lost its disk leads again, empty, if all others were away and enough of them were shut down
        # uncleanly.
        (_declared(FLUSHED), [effect("disk-wipe", "n1"), effect("kill", "n2", "n3")], BACK),
        (_declared(FLUSHED), [effect("disk-wipe", "n1"), effect("kill", "n2"), effect("pause", "n3")], BACK),
        (_declared(FLUSHED), [effect("disk-wipe", "n1"), effect("pause", "n2", "n3")], set()),
        (_declared(FLUSHED), [effect("disk-wipe", "n1"), effect("kill", "n2")], set()),
        (_declared(FLUSHED), [effect("disk-wipe", "n1", start_s=40), effect("kill", "n2", "n3")], set()),
        (_declared({**FLUSHED, "min.insync.replicas": 3}), [effect("disk-wipe", "n1"), effect("kill", "n2", "n3")],
         BACK),
        # Healed by a reboot: what was not fsynced is gone.
        (_declared(SAFE), [effect("disk-dead", "n1", "n2")], BACK),
        (_declared(FLUSHED), [effect("disk-dead", "n1", "n2")], set()),
        # Brokers do not repair segments.
        (_declared(FLUSHED), [effect("bit-flip", "n1")], BACK),
        (_declared(SAFE, consumer={"check.crcs": False}), [KILLED], set()),
        (_declared(SAFE, consumer={"check.crcs": False}), [effect("truncate", "n1")], BACK | {"corrupt", "duplicate"}),
        # Networks, clocks and operators lose nothing that all in-sync replicas have.
        (_declared(SAFE), [effect("partition", "n1", "n2", "n3"), effect("clock-jump", "n1")], set()),
        (_declared(SAFE), [effect("rolling-upgrade", "n1", "n2", "n3"), effect("reassign", "n1")], set()),
        # What hits clients moves no leader.
        (_declared(SAFE, {"acks": 1, "retries": 0}), [effect("client-crash", "producer-0")], set()),
        (_declared(SAFE, {"acks": 0}), [effect("client-disconnect", "producer-0")], BEHIND),
        (_declared({**SAFE, **UNCLEAN}), [effect("client-pause", "producer-0", "consumer-0")], set()),
        (_declared(SAFE, AT_LEAST_ONCE), [effect("client-disconnect", "producer-0")], {"duplicate", "reordered"}),
        (_declared(SAFE, {"acks": 1, "retries": 0}), [effect("partition", "n1")], BEHIND),
        # Unclean elections: once as many hosts were hit as replicas must have a message.
        (_declared({**FLUSHED, **UNCLEAN}), [KILLED, effect("kill", "n2", start_s=12)], BACK),
        (_declared({**FLUSHED, **UNCLEAN}), [KILLED], set()),
        (_declared({**FLUSHED, **UNCLEAN}, version="3.8.1"), [KILLED, effect("kill", "n2", start_s=12)], set()),
        (_declared({**SAFE, "unclean.leader.election.enable": "true"}), [ROLLED], BACK),
        (_declared(SAFE, config=UNCLEAN), [ROLLED], BACK),
        (_declared({**SAFE, "unclean.leader.election.enable": False}, config=UNCLEAN), [ROLLED], set()),
        (_declared(UNCLEAN, {"acks": 1}), [KILLED], BACK | {"duplicate"}),
        # acks=1 and acks=0: what a leader alone had, or nobody.
        (_declared(SAFE, {"acks": 1}), [KILLED], BEHIND | {"duplicate"}),
        (_declared(SAFE, {"acks": 1, "retries": 0}), [KILLED], BEHIND),
        (_declared(SAFE, {"acks": 0}), [KILLED], BEHIND),
        (_declared(FLUSHED, {"acks": 1}), [ALL_CUT], BEHIND | {"duplicate"}),
        (_declared(SAFE, {"request.required.acks": 1}), [KILLED], BEHIND | {"duplicate"}),
        # Retries without idempotence.
        (_declared(SAFE, AT_LEAST_ONCE), [KILLED], {"duplicate", "reordered"}),
        (_declared(SAFE, AT_LEAST_ONCE), [effect("reset-connections", "n1")], {"duplicate", "reordered"}),
        (_declared(SAFE, {**AT_LEAST_ONCE, "max.in.flight": 1}), [KILLED], {"duplicate"}),
        (_declared(SAFE, {**AT_LEAST_ONCE, "max.in.flight.requests.per.connection": 1}), [KILLED], {"duplicate"}),
        (_declared(SAFE, {**AT_LEAST_ONCE, "retries": 0}), [KILLED], set()),
        (_declared(SAFE, {**AT_LEAST_ONCE, "message.send.max.retries": 0}), [KILLED], set()),
        (_declared(SAFE, AT_LEAST_ONCE), [], set()),
        (_declared(SAFE, {"enable.idempotence": True}), [KILLED], set()),
        (_declared(SAFE, {"enable.idempotence": "true"}), [KILLED], set()),
        (_declared(SAFE, {"enable.idempotence": None}), [KILLED], {"duplicate", "reordered"}),
        # What a group gives to another member is another session: nothing is delivered again within one.
        (_declared(SAFE, grouped=True), [], set()),
        (_declared(SAFE, grouped=True), [KILLED], set()),
    ],
)  # fmt: skip
def test_a_line_of_the_table(declared: Declared, effects: list[Effect], allowed: set[str]) -> None:
    assert _allowed(declared, *effects) - ({"redelivered"} if allowed >= BACK else set()) == allowed


@pytest.mark.parametrize("declared", [_declared(SAFE), _declared(SAFE, {"acks": 1}), _declared(SAFE, AT_LEAST_ONCE)])
@pytest.mark.parametrize("effects", [[], [KILLED], [ALL_CUT]])
@pytest.mark.parametrize("name", FOLLOWING)
def test_what_follows_from_an_allowed_anomaly_is_allowed(name: str, effects: list[Effect], declared: Declared) -> None:
    table = guarantees(declared, effects)

    assert table[name].allowed == any(table[cause].allowed for cause in FOLLOWING[name])


def test_acks_0_orders_nothing_between_producers() -> None:
    assert guarantees(_declared(SAFE, {"acks": 0}), [])["order-violation"].allowed


@pytest.mark.parametrize("cycle", CYCLES)
def test_kafka_does_not_isolate_transactions(cycle: str) -> None:
    assert guarantees(_declared(SAFE), [])[cycle].allowed


@pytest.mark.parametrize("anomaly", ["aborted-read", "precommitted-read"])
def test_only_consumers_that_ask_for_it_read_what_did_not_commit(anomaly: str) -> None:
    asking = replace(_declared(SAFE), consumer={"isolation.level": "read_uncommitted"})

    assert guarantees(asking, [])[anomaly].allowed
    assert not guarantees(_declared(SAFE), [KILLED])[anomaly].allowed


def test_without_a_setting_the_default_of_the_client_that_reads_decides() -> None:
    default = {"isolation.level": None}

    assert guarantees(_declared(SAFE, consumer=default, clients="java"), [])["aborted-read"].allowed
    assert not guarantees(_declared(SAFE, clients="java"), [])["aborted-read"].allowed
    assert not guarantees(_declared(SAFE, consumer=default), [])["aborted-read"].allowed


def test_every_anomaly_that_is_no_measurement_has_a_line() -> None:
    of_logs = {anomaly.name for anomaly in anomalies().values() if LOG in anomaly.models and not anomaly.measured}

    assert of_logs - OF_SUBSCRIPTIONS - {"unseen"} == set(guarantees(_declared(), [])) - OF_SUBSCRIPTIONS


@pytest.mark.parametrize(
    "anomaly", ["phantom", "corrupt", "misrouted", "failed-visible", "double-assignment", "stuck-partition"]
)
def test_no_setting_and_no_fault_allows_what_may_never_be(anomaly: str) -> None:
    worst = _declared(UNCLEAN, {"acks": 0}, replication=1, grouped=True)

    assert anomaly not in _allowed(worst, ALL_CUT, KILLED)


def test_a_consumer_without_a_group_may_read_again_only_what_went_back() -> None:
    assert "redelivered" in _allowed(_declared(SAFE), ALL_CUT)
    assert "redelivered" not in _allowed(_declared(SAFE), KILLED)


@pytest.mark.parametrize("declared", [_declared(), _declared(SAFE, {"acks": 1}), _declared(UNCLEAN, AT_LEAST_ONCE)])
@pytest.mark.parametrize("effects", [[], [ALL_CUT], [KILLED, ROLLED], [effect("bit-flip", "n1")]])
def test_every_line_says_why_and_what_to_change(declared: Declared, effects: list[Effect]) -> None:
    table = guarantees(declared, effects)

    assert all(allowance.why for allowance in table.values())
    assert all(allowance.remedy for allowance in table.values() if allowance.allowed)


@pytest.mark.parametrize(("given", "allowed"), [("a-{producer}", False), ("a-{producer}-{incarnation}", True)])
def test_only_a_transactional_id_of_its_own_lets_a_zombie_write(given: str, allowed: bool) -> None:
    table = guarantees(_declared(SAFE, {"transactional.id": given}), [])

    assert table["zombie-write"].allowed is allowed


def test_who_reads_uncommitted_reads_what_a_zombie_wrote_before_it_was_fenced() -> None:
    assert guarantees(_declared(SAFE, consumer={"isolation.level": "read_uncommitted"}), [])["zombie-write"].allowed


def test_a_client_that_is_given_up_may_be_overtaken_by_the_next_one() -> None:
    declared = replace(_declared(SAFE), traits=(Resends("asked", restarts=True),))

    assert _allowed(declared) == {"reordered"}


@pytest.mark.parametrize(
    ("cluster", "traits", "effects", "allowed"),
    [
        ({}, (Transactions(),), [effect("pause", "n1")], True),
        ({"clients": "java", "features": {"transaction.version": 1}}, (Transactions(),), [effect("pause", "n1")], True),
        ({"clients": "java", "version": "3.9.1"}, (Transactions(),), [effect("pause", "n1")], True),
        ({"clients": "java"}, (Transactions(),), [effect("pause", "n1")], False),
        ({}, (), [effect("pause", "n1")], False),
        ({}, (Transactions(),), [], False),
    ],
    ids=["librdkafka", "one epoch", "old release", "own client", "no transactions", "no fault"],
)
def test_a_late_end_ends_the_next_transaction_where_they_share_an_epoch(
    cluster: dict[str, Any], traits: tuple[Any, ...], effects: list[Effect], allowed: bool
) -> None:
    declared = replace(_declared(**cluster), traits=traits)
    assert bool(guaranteed.applies(LATE_END, declared, effects)) == allowed


@pytest.mark.parametrize(
    ("cluster", "producer", "lasted_s", "allowed"),
    [
        ({}, {}, 31, True),
        ({}, {}, 29, False),
        ({}, {"message.timeout.ms": 4000}, 5, True),
        ({}, {"delivery.timeout.ms": None}, 299, False),
        ({}, {"delivery.timeout.ms": 0}, 1000, False),
        ({}, {"enable.idempotence": False}, 31, False),
        ({"clients": "java"}, {}, 31, False),
    ],
    ids=["longer", "shorter", "own timeout", "librdkafka's timeout", "never", "not idempotent", "own client"],
)
def test_sends_are_given_up_if_a_fault_outlasts_their_timeout(
    cluster: dict[str, Any], producer: dict[str, Any], lasted_s: int, allowed: bool
) -> None:
    outage = effect("partition", "n1", start_s=10, healed_s=10 + lasted_s)

    assert bool(guaranteed.applies(GIVEN_UP, _declared(producer=producer, **cluster), [outage])) == allowed
