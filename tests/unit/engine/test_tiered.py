"""What an object store lost explains only what it alone had, and what was there before it was damaged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from explaining import HERE, SECOND, Row, lost
from guaranteed import effect

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.compacting.tiers import Tiered
from chaoskit.judge.explaining.attribution import Attribution, Explained
from chaoskit.judge.explaining.record import Record
from chaoskit.model.place import Place
from clusters.kafka.settings import KafkaOptions


class _TieredRecord(Record):
    """Of partition 0 brokers have what is from position 100 on, and looks at the object store are as given; of others
    nothing is known."""

    looks: tuple[tuple[float, int], ...] = ((19, 60), (21, 90), (26, 100))

    def local_start(self, place: Place) -> int | None:
        return 100 if place[1] == 0 else None

    def tiered(self, place: Place) -> list[Tiered]:
        return [Tiered(int(at_s * SECOND), until) for at_s, until in self.looks]


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
WIPED = effect("disk-wipe", "n7", start_s=20, healed_s=25)
FLIPPED = effect("bit-flip", "n7", start_s=20, healed_s=25)
GONE = {**lost(10), "position": 89}
"""The store had acknowledged it before it was dark: the look while it was tells."""


def test_what_only_an_unsynced_store_had_is_gone_with_its_power() -> None:
    assert _rule(GONE, POWER, fsync=False) == "kafka.object-store-not-synced"
    assert _rule(GONE, POWER, fsync=True) is None, "it was on the store's disk"
    assert _rule(GONE, WIPED) == "kafka.object-store-lost"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({**GONE, "position": 90}, POWER),
        ({**GONE, "position": 100}, POWER),
        ({**GONE, "position": 90}, WIPED),
        (GONE, effect("power-cut", "n6", start_s=20, healed_s=25)),
        (GONE, effect("kill", "n7", start_s=20, healed_s=25)),
        (GONE, effect("partition", "n7", start_s=20, healed_s=25)),
    ],
    ids=["copied later", "brokers had it", "copied after the disk", "of a broker", "only ended", "only away"],
)
def test_what_comes_close_is_not_explained(row: Row, fault: Effect) -> None:
    explanation = _explained([row], fault, fsync=False)

    assert explanation.findings["rule"].to_pylist() == [None]
    assert not explanation.open


@pytest.mark.parametrize("row", [lost(10), {**lost(10, partition=1), "position": 89}], ids=["position", "local start"])
def test_what_is_not_recorded_is_a_doubt(row: Row) -> None:
    explanation = _explained([row], POWER, fsync=False)

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["lost"][1] == "nobody told which messages only the object store had"


COPIED = "whether the object store had a message when it was damaged is not recorded"


@pytest.mark.parametrize(
    ("position", "rule", "is_open"),
    [(59, "kafka.object-store-lost", False), (60, None, True), (89, None, True), (90, None, False)],
)
def test_of_a_store_that_goes_on_what_was_copied_around_the_damage_is_a_doubt(
    position: int, rule: str | None, is_open: bool
) -> None:
    explanation = _explained([{**GONE, "position": position}], FLIPPED)

    assert explanation.findings["rule"].to_pylist() == [rule]
    assert [why for _, why in explanation.open.values()] == [COPIED] * is_open


def test_without_a_look_while_it_was_dark_it_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_TieredRecord, "looks", ())
    explanation = _explained([GONE], POWER, fsync=False)

    assert explanation.open["lost"][1] == COPIED


def test_what_may_have_been_written_back_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_TieredRecord, "looks", ((201, 90),))
    explanation = _explained([GONE], effect("power-cut", "n7", start_s=200, healed_s=205), fsync=False)

    assert explanation.open["lost"][1] == COPIED
