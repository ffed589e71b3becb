"""What BookKeeper keeps, and that it fences: every "none lost" has a run that does lose beside it."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chaos

APART = {"hosts": 4, "roles": {"zookeepers": 1, "bookies": 3}}
"""ZooKeeper on n1, bookies on n2 to n4."""

SLOWLY = {"writers": 4, "readers": 0, "rate": 40, "recover_every": None, "duration": "12s"}
"""The last entry of each ledger is acknowledged, and no bookie knows that it is."""

FORGET_ONE = [
    {"at": "6s", "inject": "client-crash", "on": "producers", "for": "4s"},
    {"at": "7s", "inject": "power-cut", "on": "n2", "for": "2s"},
]
"""The writers die, then one bookie loses its power: whoever recovers their ledgers decides what was in them."""


def test_a_ledger_that_was_recovered_takes_no_entry_more(bookkeeper: Any) -> None:
    run = bookkeeper(workload={"recover_every": "300ms"})

    # It may be invalid: a fenced writer may end a ledger below what a recovery has confirmed (docs/bookkeeper.md).
    assert run.verdict.audit["complete"]
    assert run.verdict.counts["indeterminate"] > 0
    for anomaly in ("fencing-violation", "lost-entry", "lost", "readers-disagree", "entry-conflict"):
        assert run.anomalies[anomaly].count == 0


@pytest.mark.long
@pytest.mark.parametrize("ack_quorum", [1, 2])
def test_a_power_cut_during_an_ensemble_change_loses_nothing_that_the_journal_has(
    bookkeeper: Any, ack_quorum: int
) -> None:
    run = bookkeeper(
        cluster={
            "hosts": 6,
            "roles": {"zookeepers": 1, "bookies": 5},
            "persistence": {"ensemble": 3, "write_quorum": 3, "ack_quorum": ack_quorum},
        },
        workload={"recover_every": "1s", "duration": "12s"},
        faults=[
            {"at": "4s", "inject": "kill", "on": "ensemble-bookie", "for": "4s", "pick": 0.0},
            {"at": "4s", "inject": "power-cut", "on": "ensemble-bookie", "for": "2s", "pick": 0.5},
        ],
    )

    run.assert_valid()
    assert len({target for fault in run.verdict.faults for target in fault["targets"]}) == 2
    assert run.anomalies["lost-entry"].count == 0


@pytest.mark.long
def test_one_bookie_less_than_the_ack_quorum_loses_nothing(bookkeeper: Any) -> None:
    run = bookkeeper(
        cluster={"hosts": 4}, faults=[{"at": "3s", "inject": "kill", "on": "ensemble-bookie", "for": "3s"}]
    )

    run.assert_valid()
    assert run.anomalies["lost-entry"].count == 0


@pytest.mark.long
@pytest.mark.parametrize("sync", [True, False])
def test_one_bookie_that_forgets_is_enough_to_lose(bookkeeper: Any, sync: bool) -> None:
    run = bookkeeper(
        bookie={"journalSyncData": sync, "journalPageCacheFlushIntervalMSec": 60000},
        cluster={**APART, "persistence": {"ack_quorum": 3}},
        workload=SLOWLY,
        faults=FORGET_ONE,
        expect={"lost-entry": "none" if sync else "some"},
    )

    run.assert_valid()
