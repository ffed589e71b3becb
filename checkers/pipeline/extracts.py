"""What each partition of a pipeline contributes: its inputs, commits and owners, or its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, integers, is_one_of
from chaoskit.contract.checkers.checker import Part
from chaoskit.contract.workloads.datamodel import OUTPUT, QUEUE
from chaoskit.model.observations.pipeline import (
    ApplicationCommits,
    DatabaseSink,
    Fed,
    GoneOutputs,
    InstanceActs,
    Outputs,
    OwnBounds,
    Owners,
)
from chaoskit.model.observations.queue import DeadLetters, QueueSettings
from checkers.arrays.columns import changes
from checkers.arrays.rows import INTACT
from checkers.arrays.view import LogView

FED, INPUT, COMMIT, OWNER, EXPECTED, WRITTEN, OWN, GONE, CUT, ACTED, LEFT, WORN, DEAD = range(13)
"""Kinds of rows, and what the columns mean.

`FED`: the partition is fed; `value`: whether keys have an order; `number`: the bound of an output's age, ns; `key`:
whether it is a queue. `INPUT`: a message that was sent; `at_ns`: when it was acknowledged; `number`: in how many copies
it is in the topic; of a queue, whether anybody received it; `key`.
`COMMIT`: a group committed `position`; `value`: where that begins, if not everything before is. `OWNER`: instance
`value` owns the partition. `EXPECTED`: each input has `value`
to `number` outputs; `key`: whether positions tell their order. `WRITTEN`: an output of the input `value`, first read at
`at_ns`; of a queue, a delivery, and `key`: whether it is marked as redelivered. `OWN`: input `value` has bounds of its
own: `position` to `number` outputs. `GONE`: like `WRITTEN`, but it was missed at `number`. `CUT`: a fault of the
database of the outputs took from `at_ns` to `number` what was not flushed; `value`: whether that is also what it had
committed; `words`: the fault, the host and the setting. `ACTED`: instance `number` did what is at `position` in `ACTS`
with the input `value`, or with an output of it. `LEFT`: the final read
found the input `value` in its queue. `WORN`: the input `value` had been returned `number` times when it was last
delivered, so that its queue drops it if it is returned once more. `DEAD`: the final read found the input `value` among
the dead letters of its queue."""

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
    queued = part.setting.model is QUEUE
    yield _rows(part, FED, 1, value=int(fed.ordered), number=within, key=int(queued))
    values = np.flatnonzero(view.first_sends != NONE)
    send = view.first_sends[values]
    acked = view.first_acks[values]
    acked_op = view.sends.operation[np.where(acked == NONE, send, acked)]
    position, copies = _kept(view, values)
    if queued:
        copies = view.visible[values].astype(np.int64)
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
    if queued:
        yield from _queue(part)
        return
    commits, owners = ApplicationCommits.read(part.observations), Owners.read(part.observations)
    at_ns = view.operations.start_ns[view.operations.rows_of(commits.op)]
    yield _rows(
        part,
        COMMIT,
        commits.op.size,
        value=commits.first_position,
        position=commits.next_position,
        at_ns=at_ns,
        op=commits.op,
    )
    at_ns = view.operations.end_ns[view.operations.rows_of(owners.op)]
    # Of those who share a partition, nobody knows which one had a message.
    first = changes(owners.op)
    several = np.diff(np.append(np.flatnonzero(first), first.size)) > 1
    instance = np.where(several, NONE, owners.instance[first])
    yield _rows(part, OWNER, instance.size, value=instance, at_ns=at_ns[first], op=owners.op[first])


def _queue(part: Part) -> Iterator[pa.Table]:
    view = part.view(LogView)
    yield _acts(part)
    left = np.unique(view.intact.value[view.operations.audits[view.intact.operation]])
    yield _rows(part, LEFT, left.size, value=left)
    dead = np.unique(DeadLetters.read(part.observations).value)
    yield _rows(part, DEAD, dead.size, value=dead)
    limit = {**dict(part.setting.imposed), **QueueSettings.read(part.observations).numbers}.get("delivery-limit")
    if limit is not None:
        receives, earlier = view.intact, _earlier(part)
        order = np.lexsort((earlier, receives.value))
        last = order[np.append(np.diff(receives.value[order]) != 0, np.ones(min(order.size, 1), np.bool_))]
        worn = last[earlier[last] >= limit]
        yield _rows(part, WORN, worn.size, value=receives.value[worn], number=earlier[worn])


def _acts(part: Part) -> pa.Table:
    rows, acts = part.view(LogView).operations, InstanceActs.read(part.observations)
    at_ns = rows.start_ns[rows.rows_of(acts.op)]
    return _rows(
        part, ACTED, acts.op.size, value=acts.value, position=acts.act, number=acts.instance, at_ns=at_ns, op=acts.op
    )


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
    yield _acts(part)
    view = part.view(LogView)
    receives, operations = view.intact, view.operations
    if (receives.position == NONE).any():
        yield _deliveries(part)
        return
    order = np.lexsort((receives.received_ns, receives.position))
    first = order[changes(receives.position[order])]
    gone = GoneOutputs.read(part.observations)
    order = np.argsort(gone.position)
    gone_at, missed_ns = gone.position[order], operations.end_ns[operations.rows_of(gone.op)][order]
    lost = np.isin(receives.position[first], gone_at)
    for kind, rows in ((WRITTEN, first[~lost]), (GONE, first[lost])):
        yield _rows(
            part,
            kind,
            rows.size,
            value=receives.value[rows],
            position=receives.position[rows],
            at_ns=receives.received_ns[rows],
            op=operations.op[receives.operation[rows]],
            number=NONE if kind == WRITTEN else missed_ns[np.searchsorted(gone_at, receives.position[rows])],
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


def _deliveries(part: Part) -> pa.Table:
    """Return every delivery of an output from a queue."""
    view = part.view(LogView)
    receives = view.intact
    return _rows(
        part,
        WRITTEN,
        receives.value.size,
        value=receives.value,
        key=(_earlier(part) > 0).astype(np.int64),
        at_ns=receives.received_ns,
        op=view.operations.op[receives.operation],
    )


def _earlier(part: Part) -> Ints:
    """Return how often the message of each intact receive had been delivered before."""
    rows = is_one_of(part.messages["direction"], ["received"])
    counts: Ints = integers(part.messages["delivery"])[np.flatnonzero(rows)]
    intact: Ints = counts[part.view(LogView).receives.payload == INTACT]
    return intact


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
