"""Findings say when the messages that they name were written and acknowledged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from chaoskit.contract.checkers.checker import FINDINGS, Part, PartitionSetting
from chaoskit.judge.findings.dating import dated
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS


def _part(sends: list[tuple[int, int, int | None, str]]) -> Part:
    """Return a partition with sends: value, start, end and outcome."""
    operations = [
        {"op": op, "process": 0, "client": "p", "f": "send", "start_ns": start, "end_ns": end, "outcome": outcome}
        for op, (_, start, end, outcome) in enumerate(sends)
    ]
    rows = [
        {"op": op, "direction": "sent", "topic": "t", "partition": 0, "value": value, "payload": "ok"}
        for op, (value, *_) in enumerate(sends)
    ]
    return Part(
        PartitionSetting("t", 0),
        pa.Table.from_pylist(rows, MESSAGES),
        pa.Table.from_pylist(operations, OPERATIONS),
        OBSERVATIONS.empty_table(),
    )


def _times(part: Part, value: int | None, other: int | None) -> list[Any]:
    finding = {"anomaly": "lost", "topic": "t", "partition": 0, "value": value, "other_value": other}
    (row,) = dated(part, pa.Table.from_pylist([finding], FINDINGS)).to_pylist()
    return [row[name] for name in ("written_ns", "acked_ns", "other_written_ns", "other_acked_ns")]


def test_the_first_send_and_the_last_acknowledgement_count() -> None:
    part = _part(
        [(7, 10, 15, "ok"), (8, 20, 25, "info"), (7, 30, 35, "ok"), (7, 40, 45, "fail"), (9, 50, None, "info")]
    )

    assert _times(part, 7, 8) == [10, 35, 20, None]
    assert _times(part, 9, None) == [50, None, None, None]


def test_what_was_sent_elsewhere_has_no_times() -> None:
    assert _times(_part([(7, 10, 15, "ok")]), 6, 8) == [None] * 4
    assert _times(_part([]), 6, None) == [None] * 4


def test_findings_keep_their_schema() -> None:
    assert dated(_part([]), FINDINGS.empty_table()).schema.equals(FINDINGS)
