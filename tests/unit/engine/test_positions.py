"""Positions in examples are told as the system writes them."""

from __future__ import annotations

import pyarrow as pa
from samples import plan

from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.verdict.anomalies import examples
from clusters.pulsar.positions import pack

OPERATIONS = pa.table({"op": pa.array([], pa.int64())})


def _subject(system: str) -> Subject:
    return Subject("small", 7, {}, plan=plan(cluster={"system": system, "hosts": 3}))


def test_pulsar_has_ledgers_and_entries() -> None:
    rows = pa.table({"topic": ["log-0"], "position": [pack(12, 345, 0)], "other_position": [pack(12, 345, 6)]})

    (example,) = examples(rows, OPERATIONS, _subject("pulsar").describe)

    assert example["position"] == pack(12, 345, 0)
    assert (example["position_text"], example["other_position_text"]) == ("12:345", "12:345:6")


def test_offsets_are_numbers() -> None:
    (example,) = examples(pa.table({"position": [5]}), OPERATIONS, _subject("kafka").describe)

    assert example == {"position": 5}
    assert Subject("imported", 0, {}).describe(5) == ""
