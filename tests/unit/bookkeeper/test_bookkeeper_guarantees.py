"""The table of BookKeeper's guarantees, line by line: settings and faults give what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base import plugins
from chaoskit.contract.cluster import Declared, Effect
from clusters.bookkeeper.guarantees import guarantees
from clusters.bookkeeper.settings import BookKeeperOptions

SECOND = 1_000_000_000


def _declared(bookie: dict[str, Any] | None = None, **options: Any) -> Declared:
    roles = {"zookeepers": 1, "bookies": 3}
    config = {"bookie": bookie or {}, "zookeeper": options.pop("zookeeper", {})}
    chosen = BookKeeperOptions.model_validate({"config": config, "roles": roles, **options})
    return Declared(chosen, 3, 1, {}, {}, False, ledgers=True, hosts=4)


def _effect(kind: str, *hosts: str) -> Effect:
    return Effect(kind, hosts, 8 * SECOND, 10 * SECOND)


def _allowed(declared: Declared, *effects: Effect) -> set[str]:
    return {name for name, each in guarantees(declared, effects).items() if each.allowed}


ALL_CUT = _effect("power-cut", "n2", "n3", "n4")
ONE_CUT = _effect("power-cut", "n2")
KILLED = _effect("kill", "n2", "n3")
UNSYNCED = {"journalSyncData": False}

FORGOTTEN = {"lost", "lost-entry", "truncated", "skipped", "late", "dropped-as-duplicate", "readers-disagree"}
FORGOTTEN |= {"lac-regression", "fencing-violation", "sequence-jump"}
"""What comes with bookies that forget."""

CONFLICT = FORGOTTEN | {"offset-conflict", "entry-conflict"}
"""What comes with a ZooKeeper that forgets ledgers."""


@pytest.mark.parametrize(
    ("declared", "effects", "allowed"),
    [
        (_declared(UNSYNCED), [], set()),
        (_declared(), [ALL_CUT, KILLED, _effect("partition", "n2")], set()),
        (_declared(persistence={"ack_quorum": 1}), [ALL_CUT, KILLED], set()),
        (_declared(UNSYNCED), [KILLED], set()),
        (_declared(UNSYNCED), [_effect("power-cut", "n1")], set()),
        # One bookie that forgot is enough, whatever the ack quorum.
        (_declared(UNSYNCED, persistence={"ack_quorum": 1}), [ONE_CUT], FORGOTTEN),
        (_declared(UNSYNCED, persistence={"ack_quorum": 2}), [ONE_CUT], FORGOTTEN),
        (_declared(UNSYNCED, persistence={"ack_quorum": 3}), [ONE_CUT], FORGOTTEN),
        (_declared({"journalWriteData": False}), [_effect("kill", "n3")], FORGOTTEN),
        (_declared(), [_effect("fsync-lies", "n4")], FORGOTTEN),
        (_declared(), [_effect("bit-flip", "n4")], FORGOTTEN),
        (_declared(digest="DUMMY"), [_effect("bit-flip", "n4")], FORGOTTEN | {"corrupt"}),
        (_declared(), [_effect("time-travel", "n1")], CONFLICT),
        (_declared(zookeeper={"forceSync": "no"}), [_effect("power-cut", "n1")], CONFLICT),
        (_declared(zookeeper={"forceSync": "no"}), [_effect("kill", "n1")], set()),
        (_declared(UNSYNCED), [_effect("client-crash", "producer-0")], set()),
    ],
)
def test_a_line_of_the_table(declared: Declared, effects: list[Effect], allowed: set[str]) -> None:
    assert _allowed(declared, *effects) == allowed


def test_every_anomaly_of_a_ledger_has_a_line() -> None:
    named = {name for kind in ("log", "ledgers", "groups") for name in plugins.load("checker", kind, "x").anomalies}

    assert named <= set(guarantees(_declared(), [])) | {"unseen"}


@pytest.mark.parametrize("declared", [_declared(), _declared(UNSYNCED), _declared(digest="DUMMY")])
@pytest.mark.parametrize("effects", [[], [ALL_CUT], [_effect("bit-flip", "n1", "n2")]])
def test_every_line_says_why_and_what_to_change(declared: Declared, effects: list[Effect]) -> None:
    table = guarantees(declared, effects)

    assert all(allowance.why for allowance in table.values())
    assert all(allowance.remedy for allowance in table.values() if allowance.allowed)
