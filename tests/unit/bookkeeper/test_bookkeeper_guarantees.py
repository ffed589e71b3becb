"""The table of BookKeeper's guarantees, line by line: settings and faults give what is allowed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from guaranteed import SECOND, effect, table

from chaoskit.contract.checkers.anomaly import CRASHED
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.compacting.placements import Placements
from chaoskit.judge.explaining.attribution import Attribution
from chaoskit.judge.explaining.record import Record
from chaoskit.model.tables import PLACEMENTS
from clusters.bookkeeper.options import BookKeeperOptions


def _declared(bookie: dict[str, Any] | None = None, **options: Any) -> Declared:
    roles = {"zookeepers": 1, "bookies": 3}
    config = {"bookie": bookie or {}, "zookeeper": options.pop("zookeeper", {})}
    chosen = BookKeeperOptions.model_validate({"config": config, "roles": roles, **options})
    return Declared(chosen, 4, 3, (Topic("ledger", LEDGER, None),), {}, {})


def _allowed(declared: Declared, *effects: Effect) -> set[str]:
    allowances = table("bookkeeper", declared, effects)
    return {name for name, allowance in allowances.items() if allowance.allowed and name != CRASHED.name}


ALL_CUT = effect("power-cut", "n2", "n3", "n4")
ONE_CUT = effect("power-cut", "n2")
KILLED = effect("kill", "n2", "n3")
UNSYNCED = {"journalSyncData": False}

FORGOTTEN = {"lost", "lost-entry", "truncated", "skipped", "late", "dropped-as-duplicate", "readers-disagree"}
FORGOTTEN |= {"resurrected", "lac-regression", "fencing-violation", "sequence-jump", "expired"}
"""What comes with bookies that forget."""

CONFLICT = FORGOTTEN | {"offset-conflict", "entry-conflict", "order-violation", "reordered"}
"""What comes with a ZooKeeper that forgets ledgers."""


@pytest.mark.parametrize(
    ("declared", "effects", "allowed"),
    [
        (_declared(UNSYNCED), [], set()),
        (_declared(), [ALL_CUT, KILLED, effect("partition", "n2")], set()),
        (_declared(persistence={"ack_quorum": 1}), [ALL_CUT, KILLED], set()),
        (_declared(UNSYNCED), [KILLED], set()),
        (_declared(UNSYNCED), [effect("power-cut", "n1")], set()),
        # One bookie that forgot is enough, whatever the ack quorum.
        (_declared(UNSYNCED, persistence={"ack_quorum": 1}), [ONE_CUT], FORGOTTEN),
        (_declared(UNSYNCED, persistence={"ack_quorum": 2}), [ONE_CUT], FORGOTTEN),
        (_declared(UNSYNCED, persistence={"ack_quorum": 3}), [ONE_CUT], FORGOTTEN),
        (_declared({"journalWriteData": False}), [effect("kill", "n3")], FORGOTTEN),
        (_declared(), [effect("fsync-lies", "n4")], FORGOTTEN),
        (_declared(), [effect("bit-flip", "n4")], FORGOTTEN),
        (_declared(digest="DUMMY"), [effect("bit-flip", "n4")], FORGOTTEN | {"corrupt"}),
        (_declared(), [effect("time-travel", "n1")], CONFLICT),
        (_declared(zookeeper={"forceSync": "no"}), [effect("power-cut", "n1")], CONFLICT),
        (_declared(zookeeper={"forceSync": "no"}), [effect("kill", "n1")], set()),
        (_declared(UNSYNCED), [effect("client-crash", "producer-0")], set()),
    ],
)
def test_a_line_of_the_table(declared: Declared, effects: list[Effect], allowed: set[str]) -> None:
    assert _allowed(declared, *effects) == allowed


def test_every_anomaly_of_a_ledger_has_a_line() -> None:
    of_ledgers = {anomaly.name for anomaly in anomalies().values() if LEDGER in anomaly.models and not anomaly.measured}

    assert of_ledgers <= set(table("bookkeeper", _declared(), [])) | {"unseen"}


@pytest.mark.parametrize("declared", [_declared(), _declared(UNSYNCED), _declared(digest="DUMMY")])
@pytest.mark.parametrize("effects", [[], [ALL_CUT], [effect("bit-flip", "n1", "n2")]])
def test_every_line_says_why_and_what_to_change(declared: Declared, effects: list[Effect]) -> None:
    allowances = table("bookkeeper", declared, effects).values()

    assert all(allowance.why for allowance in allowances)
    assert all(allowance.remedy for allowance in allowances if allowance.allowed)


@pytest.mark.parametrize(
    ("closed_s", "fault", "rule"),
    [
        (5, effect("power-cut", "n1", start_s=8, healed_s=10), "bookkeeper.metadata-os"),
        (12, effect("power-cut", "n1", start_s=8, healed_s=10), None),
        (5, effect("power-cut", "n2", start_s=8, healed_s=10), None),
        (5, effect("kill", "n1", start_s=8, healed_s=10), None),
    ],
    ids=["the closing was forgotten", "closed after the cut", "a bookie", "nothing was forgotten"],
)
def test_an_add_after_the_closing_of_its_ledger_follows_from_metadata_that_was_forgotten(
    closed_s: float, fault: Effect, rule: str | None
) -> None:
    """The id of the closed ledger is given again, and its new writer adds at 40 s."""
    row = {
        "anomaly": "fencing-violation", "topic": "ledger", "partition": 0, "value": 1 << 40, "position": 0,
        "since_ns": int(closed_s * SECOND), "written_ns": 40 * SECOND, "acked_ns": 41 * SECOND, "at_ns": 41 * SECOND,
    }  # fmt: skip
    gone = {
        "anomaly": "lost-entry", "topic": "ledger", "partition": 0, "value": 7, "position": 7,
        "written_ns": 4 * SECOND, "acked_ns": 4 * SECOND, "at_ns": 4 * SECOND,
    }  # fmt: skip
    declared = _declared(zookeeper={"forceSync": "no"})
    hosts = ["n1", "n2", "n3", "n4"]
    placed = Placements(PLACEMENTS.empty_table()).with_fixed({("ledger", 0): hosts[1:]})
    record = Record(declared, [fault], placed, hosts=hosts)
    attribution = Attribution(system("bookkeeper", "system").guarantees, anomalies(), record)

    table_of = pa.Table.from_pylist([row, gone], FINDINGS)
    assert attribution.explain(table_of).findings["rule"].to_pylist()[0] == rule
