"""One Spark task: reads its units with pyarrow, checks and measures them, yields small tables.

Runs in Python workers; the rows of the history never enter the JVM.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa

from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.base.latency import Ints
from chaoskit.contract.checkers.checker import Part, Settling
from chaoskit.contract.installed import checkers
from chaoskit.history.reading.reader import (
    StoredPartition,
    group_sizes,
    history_file,
    open_file,
    read_messages,
    read_observations,
    read_operations,
)
from chaoskit.judge.findings.checking import check_partition, controlling
from chaoskit.judge.findings.guard import Guard
from chaoskit.judge.timing.counting import OperationColumns
from chaoskit.judge.timing.measuring import operations_counted, partition_measured
from chaoskit.model.tables import OPERATIONS
from spark_analysis.units import SparkTask, Unit

RESULTS = pa.schema(
    [
        pa.field("run", pa.int64()),
        pa.field("place", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("checker", pa.int32()),
        pa.field("content", pa.binary()),
    ]
)
RESULTS_DDL = "run long, place string, kind string, checker int, content binary"
"""Rows that tasks yield. `place` sorts like the partitions. If `kind` is `findings`, `extract`, `counts`, `waits`
or `sent`, `content` is a table in Arrow IPC format; if it is `raised`,
JSON of a `Raised`; if it is `error`, text. `checker` is the number of the checker."""

_PIECE_ROWS = 250_000
_COUNTED = ["op", "f", "client", "start_ns", "end_ns", "outcome"]


@dataclass(frozen=True)
class _Known:
    """Operations of a run: those that some partitions refer to, and all that control clients.

    Attributes:
        table: the operations.
        every_ask: whether all with which clients ask for messages are among them; see `controlling`.
    """

    table: pa.Table
    every_ask: bool

    def of(self, messages: pa.Table, observations: pa.Table) -> pa.Table:
        """Return the operations that this partition needs, or all if there are hardly more."""
        op = self.table["op"].to_numpy()
        chosen = controlling(self.table, every_ask=self.every_ask)
        for rows in (messages, observations):
            chosen[np.searchsorted(op, rows["op"].to_numpy())] = True
        return self.table if 2 * np.count_nonzero(chosen) > chosen.size else self.table.filter(pa.array(chosen))


def work(task: SparkTask) -> Iterator[pa.RecordBatch]:
    """Process the units of a task, grouped by run; yield rows of RESULTS.

    A run that cannot be read yields an `error` and does not fail the job.
    """
    for number, group in groupby(task.units, key=lambda unit: unit.run):
        try:
            yield from _of_one_run(number, list(group))
        except ChaoskitError as error:
            yield _row(number, "", "error", -1, str(error).encode())
        pa.default_memory_pool().release_unused()


def ask(units: Sequence[Unit], checker: int, values: pa.Array) -> Iterator[pa.RecordBatch]:
    """Yield the result of a checker's `sent_here` for each partition."""
    asked = checkers()[checker]
    assert isinstance(asked, Settling)
    for unit in units:
        if unit.partition is not None:
            yield from _table(unit, "sent", checker, asked.sent_here(read_messages(unit.partition), values))


def unpacked(content: bytes) -> pa.Table:
    """Return the table in a row of RESULTS."""
    return pa.ipc.open_stream(content).read_all()


def _of_one_run(number: int, units: list[Unit]) -> Iterator[pa.RecordBatch]:
    for unit in units:
        if unit.partition is None:
            yield from _operations(unit)
    units = [unit for unit in units if unit.partition is not None]
    if not units:
        return
    every_ask = any(unit.model.alarms for unit in units)
    path, partitions = units[0].folder / "operations.parquet", [unit.partition for unit in units if unit.partition]
    known = _Known(_needed(path, partitions, every_ask=every_ask), every_ask)
    for unit in units:
        yield from _messages(unit, known)


def _operations(unit: Unit) -> Iterator[pa.RecordBatch]:
    path = unit.folder / "operations.parquet"
    for group in unit.groups:
        yield from _table(unit, "counts", -1, operations_counted(read_operations(path, [group], _COUNTED)))


def _messages(unit: Unit, known: _Known) -> Iterator[pa.RecordBatch]:
    assert unit.partition is not None
    messages, observations = read_messages(unit.partition), read_observations(unit.partition)
    operations = known.of(messages, observations)
    tables, columns = (messages, observations), OperationColumns.of(operations)
    counts, waits = partition_measured(unit.partition, unit.model, tables, columns, unit.timing)
    yield from _table(unit, "counts", -1, counts)
    yield from _table(unit, "waits", -1, waits)
    if unit.setting is None:
        return
    guard = Guard()
    for index, checked in enumerate(check_partition(Part(unit.setting, messages, operations, observations), guard)):
        yield from _table(unit, "findings", index, checked.findings)
        if checked.extract is not None:
            yield from _table(unit, "extract", index, checked.extract)
    for raised in guard.raised:
        yield _row(unit.run, _place(unit.partition), "raised", -1, json.dumps(asdict(raised)).encode())


def _needed(path: Path, partitions: Sequence[StoredPartition], *, every_ask: bool) -> pa.Table:
    """Return the operations that the partitions' rows refer to, and all that control clients; see `controlling`.

    One row group is in memory at a time. `op` is the row number.

    Raises:
        BadInput: rows refer to missing operations.
    """
    wanted = _ops_of(partitions)
    sizes = group_sizes(path)
    if wanted.size and not 0 <= wanted[0] <= wanted[-1] < sum(sizes):
        raise BadInput(f"{path}: the history refers to missing operations")
    tables, first = [OPERATIONS.empty_table()], 0
    for group, rows in enumerate(sizes):
        named = wanted[slice(*np.searchsorted(wanted, [first, first + rows]))] - first
        tables.append(_chosen(path, group, named, every_ask=every_ask))
        first += rows
    return pa.concat_tables(tables).replace_schema_metadata().unify_dictionaries()


def _chosen(path: Path, group: int, rows: Ints, *, every_ask: bool) -> pa.Table:
    """Return some rows of a row group, and all that control clients."""
    table = read_operations(path, [group]).replace_schema_metadata()
    chosen = controlling(table, every_ask=every_ask)
    chosen[rows] = True
    return table if chosen.all() else table.filter(pa.array(chosen))


def _ops_of(partitions: Sequence[StoredPartition]) -> Ints:
    """Return the distinct operations that the rows of some partitions refer to, ascending."""
    parts = [np.zeros(0, np.int64)]
    pieces = [
        piece for partition in partitions for piece in (partition.messages, partition.observations) if piece is not None
    ]
    for piece in pieces:
        with history_file(piece.file):
            op = open_file(piece.file).read_row_groups(list(piece.row_groups), columns=["op"])["op"].to_numpy()
        parts.append(op[np.append(True, op[1:] != op[:-1])] if op.size else op)
    ops = np.concatenate(parts)
    return ops if len(pieces) == 1 else np.unique(ops)


def _table(unit: Unit, kind: str, checker: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    place = _place(unit.partition) if unit.partition else ""
    for first in range(0, max(table.num_rows, 1), _PIECE_ROWS):
        piece, sink = table.slice(first, _PIECE_ROWS), io.BytesIO()
        with pa.ipc.new_stream(sink, piece.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(piece)
        yield _row(unit.run, place, kind, checker, sink.getvalue())


def _place(partition: StoredPartition) -> str:
    return f"{partition.topic}\0{partition.partition:010d}"


def _row(run: int, place: str, kind: str, checker: int, content: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"run": run, "place": place, "kind": kind, "checker": checker, "content": content}], RESULTS
    )
