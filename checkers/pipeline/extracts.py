"""What each partition of a pipeline contributes: its inputs, commits and owners, or its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.checker import Part
from chaoskit.contract.workloads.datamodel import OUTPUT
from chaoskit.model.observations.pipeline import (
    ApplicationCommits,
    DatabaseSink,
    Fed,
    GoneOutputs,
    Outputs,
    OwnBounds,
    Owners,
)
from checkers.arrays.columns import changes
from checkers.arrays.view import LogView

FED, INPUT, COMMIT, OWNER, EXPECTED, WRITTEN, OWN, GONE, CUT = range(9)
"""Kinds of rows, and what the columns mean.

`FED`: the partition is fed; `value`: whether keys have an order; `number`: the bound of an output's age, ns. `INPUT`: a
message that was sent; `at_ns`: when it was acknowledged; `number`: in how many copies it is in the topic; `key`.
`COMMIT`: a group committed `position`. `OWNER`: instance `value` owns the partition. `EXPECTED`: each input has `value`
to `number` outputs; `key`: whether positions tell their order. `WRITTEN`: an output of the input `value`, first read at
`at_ns`. `OWN`: input `value` has bounds of its own: `position` to `number` outputs. `GONE`: like `WRITTEN`, but it was
missed at `number`. `CUT`: a fault of the database of the outputs took from `at_ns` to `number` what was not flushed;
`value`: whether that is also what it had committed; `words`: the fault, the host and the setting."""

EXTRACTS = pa.schema(
    [
        ("kind", pa.int8()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("value", pa.int64()),
        ("position", pa.int64()),
        ("key", pa.int64()),
        ("at_ns", pa.int64()),
        ("op", pa.int64()),
        ("number", pa.int64()),
        ("words", pa.string()),
    ]
)


def extract_of(part: Part) -> pa.Table:
    """Return the rows of a partition; none if it belongs to no pipeline."""
    rows = list(_written(part) if part.setting.model is OUTPUT else _fed(part))
    return pa.concat_tables(rows) if rows else EXTRACTS.empty_table()


def _fed(part: Part) -> Iterator[pa.Table]:
    fed = Fed.read(part.observations)
    if fed is None:
        return
    view = part.view(LogView)
    within = NONE if fed.within_ns is None else fed.within_ns
    yield _rows(part, FED, 1, value=int(fed.ordered), number=within)
    values = np.flatnonzero(view.first_sends != NONE)
    send = view.first_sends[values]
    acked = view.first_acks[values]
    acked_op = view.sends.operation[np.where(acked == NONE, send, acked)]
    position, copies = _kept(view, values)
    yield _rows(
        part,
        INPUT,
        values.size,
        value=view.sends.value[send],
        position=position,
        key=view.sends.key[send],
        at_ns=np.where(acked == NONE, NONE, view.operations.end_ns[acked_op]),
        op=view.operations.op[view.sends.operation[send]],
        number=copies,
    )
    own = OwnBounds.read(part.observations)
    yield _rows(part, OWN, own.value.size, value=own.value, position=own.least, number=own.most)
    commits, owners = ApplicationCommits.read(part.observations), Owners.read(part.observations)
    at_ns = view.operations.start_ns[view.operations.rows_of(commits.op)]
    yield _rows(part, COMMIT, commits.op.size, position=commits.next_position, at_ns=at_ns, op=commits.op)
    at_ns = view.operations.end_ns[view.operations.rows_of(owners.op)]
    yield _rows(part, OWNER, owners.op.size, value=owners.instance, at_ns=at_ns, op=owners.op)


def _kept(view: LogView, values: Ints) -> tuple[Ints, Ints]:
    """Return the first position of each value in the topic, or `NONE`, and at how many positions it is."""
    receives = view.intact
    order = np.lexsort((receives.position, view.intact_values))
    value, position = view.intact_values[order], receives.position[order]
    first: Flags = changes(value)
    distinct = changes(value, position)
    copies = np.bincount(value[distinct], minlength=view.values.size)
    at = np.full(view.values.size, NONE)
    at[value[first]] = position[first]
    return at[values], copies[values]


def _written(part: Part) -> Iterator[pa.Table]:
    expected = Outputs.read(part.observations)
    if expected is None:
        return
    yield _rows(part, EXPECTED, 1, value=expected.least, number=expected.most, key=int(expected.ordered))
    yield from _cuts(part)
    receives = part.view(LogView).intact
    order = np.lexsort((receives.received_ns, receives.position))
    first = order[changes(receives.position[order])]
    operations = part.view(LogView).operations
    gone = GoneOutputs.read(part.observations)
    missed_ns = operations.end_ns[operations.rows_of(gone.op)]
    lost = np.isin(receives.position[first], gone.position)
    for kind, rows in ((WRITTEN, first[~lost]), (GONE, first[lost])):
        missed = np.searchsorted(gone.position, receives.position[rows], sorter=np.argsort(gone.position))
        yield _rows(
            part,
            kind,
            rows.size,
            value=receives.value[rows],
            position=receives.position[rows],
            at_ns=receives.received_ns[rows],
            op=operations.op[receives.operation[rows]],
            number=NONE if kind == WRITTEN else missed_ns[np.argsort(gone.position)][missed],
        )


def _cuts(part: Part) -> Iterator[pa.Table]:
    """Yield the faults that took from the database of the outputs what it had not flushed."""
    sink = DatabaseSink.read(part.observations)
    for fault in part.setting.faults if sink is not None and sink.host else ():
        assert sink is not None
        if sink.host in fault.targets and fault.damages:
            setting = f" (its database has {sink.forgets})" if sink.forgets else ""
            yield _rows(
                part,
                CUT,
                1,
                value=int(bool(sink.forgets)),
                at_ns=fault.start_ns,
                number=fault.effective_ns or fault.healed_ns or fault.start_ns,
                words=f"{fault.kind} of {sink.host}{setting}",
            )


def _rows(part: Part, kind: int, count: int, **columns: Any) -> pa.Table:
    given = {"kind": kind, **columns}
    texts = {"topic": part.setting.topic, "words": given.pop("words", "")}
    arrays = []
    for field in EXTRACTS:
        if field.name in texts:
            arrays.append(pa.array([texts[field.name]] * count, pa.string()))
            continue
        content = part.setting.partition if field.name == "partition" else given.get(field.name, NONE)
        arrays.append(pa.array(np.broadcast_to(content, count), field.type))
    return pa.table(arrays, EXTRACTS)
