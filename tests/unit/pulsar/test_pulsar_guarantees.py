"""The table of Pulsar's guarantees, line by line: settings and faults give what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import guaranteed
import pytest
from guaranteed import effect

from chaoskit.contract.guarantees.guarantee import Allowance, Declared, Effect
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group, Resend, Resends, Subscription
from checkers.log.logs import LogChecker
from checkers.subscription.groups import GroupChecker
from clusters.pulsar.guarantees.rules import RULES
from clusters.pulsar.settings import PulsarOptions


def _declared(
    bookie: dict[str, Any] | None = None,
    *,
    zookeeper: dict[str, Any] | None = None,
    grouped: bool = False,
    hosts: int = 3,
    bookies: int | None = None,
    batches: bool = True,
    resends: Resend = "never",
    restarts: bool = False,
    subscription: str = "",
    producer: dict[str, Any] | None = None,
    consumer: dict[str, Any] | None = None,
    **options: Any,
) -> Declared:
    config = {"bookie": bookie or {}, "zookeeper": zookeeper or {}, "broker": options.pop("broker", {})}
    chosen = PulsarOptions.model_validate({"config": config, **options})
    traits: list[object] = [Resends(resends, restarts)]
    traits += [Group()] * grouped + [Subscription(subscription)] * bool(subscription)
    return Declared(
        options=chosen,
        hosts=hosts,
        brokers=bookies or hosts,
        topics=(Topic("log-0", replication=3),),
        producer={"batching_enabled": batches, **(producer or {})},
        consumer=consumer or {},
        traits=tuple(traits),
    )


def guarantees(declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
    return guaranteed.table("pulsar", declared, effects)


def _allowed(declared: Declared, *effects: Effect) -> set[str]:
    """Return what is allowed of logs and groups, without sequence jumps, which only follow."""
    of_logs = {anomaly.name for anomaly in (*LogChecker.anomalies, *GroupChecker.anomalies)} - {"sequence-jump"}
    return {name for name, allowance in guarantees(declared, effects).items() if allowance.allowed and name in of_logs}


ALL_CUT = effect("power-cut", "n1", "n2", "n3")
ONE_CUT = effect("power-cut", "n1")
KILLED = effect("kill", "n1")
UNSYNCED = {"journalSyncData": False}
UNWRITTEN = {"journalWriteData": False}
DEDUPLICATED: dict[str, Any] = {"deduplication": True}
APART: dict[str, Any] = {"roles": {"zookeepers": 3, "bookies": 3, "brokers": 3}, "hosts": 9, "bookies": 3}
"""ZooKeeper on n1 to n3, bookies on n4 to n6, brokers on n7 to n9."""

BACK = {
    "lost",
    "resurrected",
    "truncated",
    "expired",
    "late",
    "dropped-as-duplicate",
    "redelivered",
    "rewound",
    "skipped",
    "reordered",
}
BACK |= {"order-violation"}
"""What comes with ledgers that end before what was acknowledged."""

FORGOTTEN = BACK | {"offset-conflict"}
"""What comes with a ZooKeeper that forgets ledgers."""

MOVED = {"redelivered", "rewound", "skipped"}


@pytest.mark.parametrize(
    ("declared", "effects", "allowed"),
    [
        # Without a fault, nothing.
        (_declared(), [], set()),
        (_declared(UNSYNCED), [], set()),
        # What is fsynced before it is acknowledged survives every power cut, kill, pause and partition.
        (_declared(), [ALL_CUT], {"duplicate"}),
        (_declared(**DEDUPLICATED), [ALL_CUT], set()),
        (_declared(**DEDUPLICATED), [KILLED, effect("pause", "n2"), effect("partition", "n1", "n2", "n3")], set()),
        (_declared({"journalSyncData": None}, **DEDUPLICATED), [ALL_CUT], set()),
        (_declared({"journalSyncData": "true"}, **DEDUPLICATED), [ALL_CUT], set()),
        (_declared(**DEDUPLICATED, persistence={"ack_quorum": 1}), [ALL_CUT], set()),
        # A journal that is left to the operating system: any bookie that lost power may end a ledger too early.
        (_declared(UNSYNCED, **DEDUPLICATED), [ALL_CUT], BACK),
        (_declared({"journalSyncData": "false"}, **DEDUPLICATED), [ALL_CUT], BACK),
        (_declared(UNSYNCED, **DEDUPLICATED), [ONE_CUT], BACK),
        (_declared(UNSYNCED, **DEDUPLICATED), [effect("disk-dead", "n1")], BACK),
        (_declared(UNSYNCED), [ALL_CUT], BACK | {"duplicate"}),
        (_declared(UNSYNCED, **DEDUPLICATED), [effect("kill", "n1", "n2", "n3")], set()),
        (_declared(UNSYNCED, **DEDUPLICATED, **APART), [effect("power-cut", "n1", "n7")], set()),
        (_declared(UNSYNCED, **DEDUPLICATED, **APART), [effect("power-cut", "n4")], BACK),
        # No journal: the end of a process is enough.
        (_declared(UNWRITTEN, **DEDUPLICATED), [KILLED], BACK),
        (_declared(UNWRITTEN, **DEDUPLICATED), [effect("client-crash", "producer-0")], set()),
        (_declared(UNWRITTEN, **DEDUPLICATED, **APART), [effect("kill", "n7")], set()),
        # Disks that lose or change what was fsynced; most of ZooKeeper's servers on them forget ledgers.
        (_declared(**DEDUPLICATED), [effect("fsync-lies", "n1")], BACK),
        (_declared(**DEDUPLICATED), [effect("bit-flip", "n1")], BACK),
        (_declared(**DEDUPLICATED, **APART), [effect("disk-wipe", "n4")], BACK),
        (_declared(**DEDUPLICATED, **APART), [effect("truncate", "n5")], BACK),
        (_declared(**DEDUPLICATED, **APART), [effect("time-travel", "n2")], set()),
        (_declared(**DEDUPLICATED, **APART), [effect("time-travel", "n2", "n3")], FORGOTTEN),
        (_declared(**DEDUPLICATED, **APART), [effect("disk-wipe", "n8")], set()),
        (_declared(zookeeper={"forceSync": "no"}, **DEDUPLICATED), [ALL_CUT], FORGOTTEN),
        (_declared(zookeeper={"forceSync": False}, **DEDUPLICATED), [KILLED], set()),
        # What is sent again is written again, unless brokers know the sequence.
        (_declared(), [KILLED], {"duplicate"}),
        (_declared(), [effect("client-disconnect", "producer-0")], {"duplicate"}),
        (_declared(**DEDUPLICATED), [effect("client-disconnect", "producer-0")], set()),
        # Groups: at least once, and a member is not told what it owns.
        (_declared(grouped=True), [], set()),
        (_declared(grouped=True, **DEDUPLICATED), [KILLED], MOVED),
    ],
)  # fmt: skip
def test_a_line_of_the_table(declared: Declared, effects: list[Effect], allowed: set[str]) -> None:
    assert _allowed(declared, *effects) == allowed


@pytest.mark.parametrize("declared", [_declared(), _declared(UNSYNCED), _declared(grouped=True)])
@pytest.mark.parametrize("effects", [[], [KILLED], [ALL_CUT]])
def test_a_reader_sees_jumps_where_something_else_is_allowed(declared: Declared, effects: list[Effect]) -> None:
    causes = {"lost", "duplicate", *MOVED}

    assert guarantees(declared, effects)["sequence-jump"].allowed == bool(causes & _allowed(declared, *effects))


@pytest.mark.parametrize(
    ("persistence", "words"),
    [
        ({}, "that 2 bookie(s) lack (write quorum 3 - ack quorum 2 + 1); 1 of them may have lacked it"),
        ({"ack_quorum": 3}, "that 1 bookie(s) lack (write quorum 3 - ack quorum 3 + 1); 0 of them"),
        ({"ack_quorum": 1}, "that 3 bookie(s) lack (write quorum 3 - ack quorum 1 + 1); 2 of them"),
    ],
)
def test_a_loss_is_explained_by_the_quorums(persistence: dict[str, int], words: str) -> None:
    lost = guarantees(_declared(UNSYNCED, persistence=persistence), [ONE_CUT])["lost"]

    assert words in lost.why
    assert lost.remedy == "set journalSyncData=true"


def test_a_promise_names_the_quorums() -> None:
    lost = guarantees(_declared(persistence={"ensemble": 3, "write_quorum": 2}), [ALL_CUT])["lost"]

    assert lost.why.startswith("journalSyncData=true, ensemble 3, write quorum 2, ack quorum 2:")


@pytest.mark.parametrize("anomaly", ["phantom", "corrupt", "misrouted", "failed-visible"])
def test_no_setting_and_no_fault_allows_what_may_never_be(anomaly: str) -> None:
    worst = _declared({**UNSYNCED, **UNWRITTEN}, zookeeper={"forceSync": "no"}, grouped=True)

    assert anomaly not in _allowed(worst, ALL_CUT, KILLED, effect("bit-flip", "n1"))


def test_every_anomaly_of_a_log_has_a_line() -> None:
    known = (*LogChecker.anomalies, *GroupChecker.anomalies)
    of_logs = {anomaly.name for anomaly in known if not anomaly.measured}

    assert of_logs <= set(guarantees(_declared(), [])) | {"unseen"}


@pytest.mark.parametrize("declared", [_declared(), _declared(UNSYNCED), _declared(UNWRITTEN)])
@pytest.mark.parametrize("effects", [[], [ALL_CUT], [KILLED], [effect("bit-flip", "n1")]])
def test_every_line_says_why_and_what_to_change(declared: Declared, effects: list[Effect]) -> None:
    table = guarantees(declared, effects)

    assert all(allowance.why for allowance in table.values())
    assert all(allowance.remedy for allowance in table.values() if allowance.allowed)


DROPPED = {"lost", "dropped-as-duplicate"}
INVERTED = {"reordered", "order-violation"}


@pytest.mark.parametrize(
    ("resends", "batches", "deduplication", "allowed"),
    [
        ("asked", False, True, set()),
        ("asked", False, False, {"duplicate"}),
        ("asked", True, True, {"duplicate"}),
        ("unconfirmed", False, True, set()),
        ("unconfirmed", True, True, {"duplicate"} | DROPPED),
        ("unconfirmed", True, False, {"duplicate"}),
        ("at-once", False, True, DROPPED | INVERTED),
        ("at-once", False, False, {"duplicate"} | INVERTED),
        ("never", True, True, set()),
    ],
)
def test_what_applications_send_again_is_recognised_message_by_message_or_not(
    resends: Resend, batches: bool, deduplication: bool, allowed: set[str]
) -> None:
    declared = _declared(resends=resends, batches=batches, deduplication=deduplication, restarts=True)

    assert _allowed(declared) == allowed


def test_without_restarts_and_faults_nothing_is_dropped_or_sent_twice() -> None:
    assert _allowed(_declared(resends="at-once", batches=False, deduplication=True)) == set()
    assert _allowed(_declared(resends="asked")) == set()
    assert _allowed(_declared(resends="at-once", batches=False), KILLED) == {"duplicate"} | INVERTED


SUBSCRIBED = {"unacked-vanished", "double-delivery", "two-active", "fifo-violation", "redelivery-flag-missing"}
INDEXED = {"broker": {"acknowledgmentAtBatchIndexLevelEnabled": True}, "consumer": {"batch_index_ack_enabled": True}}


@pytest.mark.parametrize(
    ("given", "effects", "allowed"),
    [
        ({"subscription": "shared", "batches": False}, [], set()),
        ({"subscription": "shared"}, [], {"double-delivery"}),
        ({"subscription": "shared", **INDEXED}, [], set()),
        ({"subscription": "shared", "consumer": INDEXED["consumer"]}, [], {"double-delivery"}),
        (
            {"subscription": "shared", "batches": False, "consumer": {"unacked_messages_timeout_ms": 10_000}},
            [],
            {"double-delivery"},
        ),
        ({"subscription": "key-shared"}, [], {"double-delivery", "two-active", "fifo-violation"}),
        ({"subscription": "key-shared", "producer": {"batching_type": "KeyBased"}}, [], {"double-delivery"}),
        ({"subscription": "key-shared", "batches": False}, [], set()),
        (
            {"subscription": "exclusive", "batches": False},
            [KILLED],
            {"double-delivery", "two-active", "redelivery-flag-missing"},
        ),
        ({"subscription": "exclusive", "batches": False}, [effect("client-crash", "consumer-0")], set()),
        ({"subscription": "failover", "bookie": UNWRITTEN}, [KILLED], SUBSCRIBED),
        ({}, [KILLED], set()),
    ],
)
def test_what_subscriptions_promise(given: dict[str, Any], effects: list[Effect], allowed: set[str]) -> None:
    allowances = guarantees(_declared(grouped=True, **given), effects)

    assert {name for name in SUBSCRIBED if allowances[name].allowed} == allowed


@pytest.mark.parametrize(
    ("producer", "effects", "allowed"),
    [
        ({"chunking_enabled": True}, [effect("pause", "n1")], True),
        ({"chunking_enabled": True}, [], False),
        ({"chunking_enabled": False}, [effect("pause", "n1")], False),
        ({}, [effect("pause", "n1")], False),
    ],
    ids=["chunks", "no fault", "whole messages", "default"],
)
def test_a_message_of_chunks_may_be_received_by_nobody(
    producer: dict[str, Any], effects: list[Effect], allowed: bool
) -> None:
    (rule,) = [rule for rule in RULES if rule.id == "pulsar.chunks-resent"]
    assert rule.known
    assert bool(guaranteed.applies(rule, _declared(batches=False, producer=producer), effects)) == allowed
