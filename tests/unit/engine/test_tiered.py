"""What an object store lost explains only what it alone had, and what was there before it was damaged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from explaining import HERE, Row, lost
from guaranteed import effect

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.topic import Topic
from chaoskit.judge.explaining.attribution import Attribution, Explained
from chaoskit.judge.explaining.record import Record
from chaoskit.model.place import Place
from clusters.kafka.settings import KafkaOptions


class _TieredRecord(Record):
    """What is before position 100 of partition 0 was in the object store only; of others that is not known."""

    def local_start(self, place: Place) -> int | None:
        return 100 if place[1] == 0 else None


def _explained(rows: list[Row], fault: Effect, **tiered: Any) -> Explained:
    options = KafkaOptions.model_validate({"tiered_storage": tiered, "topic": {"flush.messages": 1}})
    declared = Declared(options, 7, 6, (Topic("log-0", replication=3),), {}, {})
    record = _TieredRecord(declared, [fault], HERE, hosts=[f"n{number}" for number in range(1, 8)])
    attribution = Attribution(system("kafka", "system").guarantees, anomalies(), record)
    return attribution.explain(pa.Table.from_pylist(rows, FINDINGS))


def _rule(row: Row, fault: Effect, **tiered: Any) -> str | None:
    rule: str | None = _explained([row], fault, **tiered).findings["rule"][0].as_py()
    return rule


POWER = effect("power-cut", "n7", start_s=20, healed_s=25)
GONE = {**lost(10), "position": 99}


def test_what_only_an_unsynced_store_had_is_gone_with_its_power() -> None:
    assert _rule(GONE, POWER, fsync=False) == "kafka.object-store-not-synced"
    assert _rule(GONE, POWER, fsync=True) is None, "it was on the store's disk"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({**GONE, "position": 100}, POWER),
        ({**lost(27), "position": 99}, POWER),
        (GONE, effect("power-cut", "n6", start_s=20, healed_s=25)),
        (GONE, effect("kill", "n7", start_s=20, healed_s=25)),
        (GONE, effect("partition", "n7", start_s=20, healed_s=25)),
    ],
    ids=["brokers had it", "written later", "of a broker", "only ended", "only away"],
)
def test_what_comes_close_is_not_explained(row: Row, fault: Effect) -> None:
    assert _rule(row, fault, fsync=False) is None


def test_a_disk_that_is_lost_takes_what_was_synced() -> None:
    wiped = effect("disk-wipe", "n7", start_s=20, healed_s=25)

    assert _rule(GONE, wiped) == "kafka.object-store-lost"
    assert _rule({**lost(27), "position": 99}, wiped) is None


@pytest.mark.parametrize(
    "row",
    [lost(10), {**lost(10, partition=1), "position": 99}],
    ids=["position", "local start"],
)
def test_what_is_not_recorded_is_a_doubt(row: Row) -> None:
    explanation = _explained([row], POWER, fsync=False)

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["lost"][1] == "the final read does not tell which messages only the object store had"


def test_when_an_old_message_was_copied_is_a_doubt() -> None:
    late = effect("power-cut", "n7", start_s=200, healed_s=205)
    explanation = _explained([GONE], late, fsync=False)

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["lost"][1] == "when a message was copied to the object store is not recorded"
