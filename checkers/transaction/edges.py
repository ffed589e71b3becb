"""Dependencies between transactions that are visible in one partition (Adya, "Weak Consistency", 1999).

A node is a transaction, identified by its `txn`, or an operation without one, identified by its `op`. The versions of a
partition are its positions:

    ww  the source wrote the next lower position with a message
    wr  the source wrote what the target received
    rw  the source read past what the target wrote, without seeing it

Not reading to the end proves nothing, since a poll may stop anywhere; therefore `rw` requires a reader that read
further. Aborted transactions have no edges; for transactions with unknown outcome only visible writes count.

Cost: O(n log n) for n messages.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, integers, words_of
from checkers.arrays.columns import distinct
from checkers.arrays.ends import ABORTED, OK
from checkers.arrays.view import LogView

WW, WR, RW, PROCESS, REALTIME = range(5)
KINDS = ("ww", "wr", "rw", "process", "realtime")

EDGES = pa.schema(
    [
        pa.field("kind", pa.int8()),
        pa.field("source", pa.int64()),
        pa.field("target", pa.int64()),
        pa.field("topic", pa.dictionary(pa.int32(), pa.string())),
        pa.field("partition", pa.int32()),
        pa.field("position", pa.int64()),
        pa.field("other_position", pa.int64()),
    ]
)
"""`position` is where the source wrote (rw: what it read), `other_position` is where the target wrote."""


def edges_of(view: LogView, operations: pa.Table) -> pa.Table:
    """Return the distinct dependencies in a partition (schema `EDGES`), each with its first evidence.

    Args:
        view: view of the partition.
        operations: operations of the view, schema `OPERATIONS`.
    """
    txn = integers(operations["txn"])
    nodes = np.where(txn == NONE, view.operations.op, txn)
    parts = [_ww(view, nodes), _wr(view, nodes), _rw(view, nodes)]
    kind = np.repeat([WW, WR, RW], [part[0].size for part in parts])
    source, target, position, other_position = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    chosen = np.flatnonzero(source != target)
    chosen = chosen[distinct(kind[chosen], source[chosen], target[chosen])]
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(chosen.size, np.int32)), pa.array([view.setting.topic]))
    columns = [
        pa.array(kind[chosen], pa.int8()),
        pa.array(source[chosen]),
        pa.array(target[chosen]),
        names,
        pa.array(np.full(chosen.size, view.setting.partition, np.int32)),
        pa.array(position[chosen].astype(np.int64)),
        pa.array(other_position[chosen].astype(np.int64)),
    ]
    return pa.table(columns, schema=EDGES)


def sorted_edges(edges: pa.Table) -> pa.Table:
    """Return edges sorted by source, kind, topic, partition and target, regardless of the order of partitions."""
    topic, names = words_of(edges["topic"])
    topic = np.argsort(np.argsort(np.array(names)))[topic]
    keys = (integers(edges["target"]), integers(edges["partition"]), topic, integers(edges["kind"]))
    return edges.take(pa.array(np.lexsort((*keys, integers(edges["source"])))))


Part = tuple[Ints, Ints, Ints, Ints]
"""Source, target, position, other position of each edge."""


def _writes(view: LogView) -> tuple[Ints, Ints]:
    """Return rows of the sends that took effect and have a known position, sorted by position; and the positions."""
    rows, place = view.places
    effective = view.acked[rows] | (
        (view.operations.fate[view.sends.operation[rows]] != ABORTED) & view.visible[view.sent_values[rows]]
    )
    rows, place = rows[effective], place[effective]
    order = np.argsort(place, kind="stable")
    return rows[order], place[order]


def _ww(view: LogView, nodes: Ints) -> Part:
    rows, place = _writes(view)
    node, position = nodes[view.sends.operation[rows]], view.positions.numbers(place)
    return node[:-1], node[1:], position[:-1], position[1:]


def _wr(view: LogView, nodes: Ints) -> Part:
    send = view.first_sends[view.intact_values]
    reader = view.intact.operation
    chosen = np.flatnonzero((send != NONE) & (view.operations.fate[reader] != ABORTED))
    writer = view.sends.operation[send[chosen]]
    chosen, writer = (array[view.operations.fate[writer] != ABORTED] for array in (chosen, writer))
    position = view.intact.position[chosen]
    return nodes[writer], nodes[reader[chosen]], position, position


def _rw(view: LogView, nodes: Ints) -> Part:
    before, after, first, _ = view.passed
    committed = view.operations.fate[view.receives.operation[after]] == OK
    before, after, first = before[committed], after[committed], first[committed]
    passed = view.visible_positions[first]
    send = view.first_sends[view.intact_values[view.first_received_at(passed)]]
    before, after, passed, send = (array[send != NONE] for array in (before, after, passed, send))
    reader, writer = view.receives.operation[after], view.sends.operation[send]
    known = view.operations.fate[writer] != ABORTED
    return (
        nodes[reader[known]],
        nodes[writer[known]],
        view.receives.position[before[known]],
        view.positions.numbers(passed[known]),
    )
