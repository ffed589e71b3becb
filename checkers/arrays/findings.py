"""Creates tables of findings from arrays of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.checkers.checker import FINDINGS, PartitionSetting
from checkers.arrays.rows import Receives
from checkers.arrays.view import LogView

NO_ROWS: Ints = np.empty(0, np.int64)
_NO_FINDINGS = FINDINGS.empty_table()


def findings_of(
    setting: PartitionSetting,
    anomaly: Anomaly,
    *,
    details: Sequence[str] = (),
    detail: Ints | int = 0,
    value: Ints,
    position: Ints,
    op: Ints,
    other_ops: pa.ListArray | None = None,
    **evidence: Ints,
) -> pa.Table:
    """Return findings in order of position, value and op.

    Args:
        setting: the partition.
        anomaly: the anomaly.
        details: the possible reasons of this anomaly; if empty, `detail` is null.
        detail: index into `details`, for each finding or for all; `NONE`: it has no reason.
        value: value that the finding is about; in all evidence, `NONE` is stored as null.
        position: its position.
        op: operation that showed it.
        other_ops: further operations of each finding; None if there are none.
        evidence: further columns of `FINDINGS`; omitted columns are null.
    """
    if not value.size:
        return _NO_FINDINGS
    evidence |= {"value": value, "position": position, "op": op}
    order = np.lexsort((op, value, position))
    count = order.size
    columns = {
        "anomaly": _word(anomaly.name, count),
        "topic": _word(setting.topic, count),
        "partition": pa.array(np.full(count, setting.partition, np.int32)),
        "detail": _reasons(details, np.broadcast_to(detail, count)[order]),
    }
    for name, numbers in evidence.items():
        ordered = numbers[order].astype(np.int64)
        columns[name] = pa.array(ordered, mask=ordered == NONE)
    if other_ops is not None:
        columns["other_ops"] = other_ops.take(pa.array(order))
    return pa.table([columns.get(field.name, pa.nulls(count, field.type)) for field in FINDINGS], FINDINGS)


def delivery_findings(
    log: LogView, anomaly: Anomaly, rows: Ints, details: Sequence[str] = (), **evidence: Ints
) -> pa.Table:
    """Report deliveries without positions, rows of `intact`: `op` received the message at `at_ns`."""
    return findings_of(
        log.setting,
        anomaly,
        details=details,
        value=log.intact.value[rows],
        position=np.full(rows.size, NONE),
        op=log.operations.op[log.intact.operation[rows]],
        at_ns=log.intact.received_ns[rows],
        **evidence,
    )


def received_after(view: LogView, anomaly: Anomaly, before: Receives, after: Receives, **more: Any) -> pa.Table:
    """Return findings about receives, each because of another one: `op` is the later one, at `at_ns`; `other_value` and
    `other_op` are of the one before.

    Args:
        view: the partition.
        anomaly: the anomaly.
        before, after: the receives.
        more: further arguments of `findings_of`.
    """
    return findings_of(
        view.setting,
        anomaly,
        value=after.value,
        position=after.position,
        op=view.operations.op[after.operation],
        other_value=before.value,
        other_op=view.operations.op[before.operation],
        at_ns=after.received_ns,
        **more,
    )


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the findings of several tables as one, with one dictionary per column."""
    filled = [table for table in tables if table.num_rows]
    return pa.concat_tables(filled).unify_dictionaries().combine_chunks() if filled else _NO_FINDINGS


def no_findings() -> pa.Table:
    """Return an empty table of findings."""
    return _NO_FINDINGS


def _word(word: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([word]))


def coded(words: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the different reasons among the words of some findings, and for each its index; `NONE` for no words."""
    codes = {reason: code for code, reason in enumerate(dict.fromkeys(filter(None, words)))}
    return list(codes), np.array([codes.get(reason, NONE) for reason in words], np.int64)


def _reasons(details: Sequence[str], chosen: Ints) -> pa.Array:
    indices = pa.array(chosen.astype(np.int32), mask=(chosen == NONE) | (not details))
    return pa.DictionaryArray.from_arrays(indices, pa.array(details, pa.string()))
