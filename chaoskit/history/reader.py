"""Reads the history of a run. Where each partition is, is known from the footers alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base.errors import BadInput
from chaoskit.history.audits import Audit, Bounds
from chaoskit.history.dataset import AUDIT_KEY
from chaoskit.history.schema import FAULTS, MESSAGES, OPERATIONS


@dataclass(frozen=True, slots=True)
class Partition:
    """Where the messages of one partition are.

    Attributes:
        topic: its topic.
        partition: its number.
        file: the Parquet file that holds all of it.
        row_groups: which row groups of the file, in `op` order.
        rows: how many messages, sent and received.
    """

    topic: str
    partition: int
    file: Path
    row_groups: tuple[int, ...]
    rows: int


class History:
    """The history in one run folder; tables are read when first asked for.

    Attributes:
        folder: the run folder.
        partitions: where the messages of each partition are, by topic and number.
    """

    def __init__(self, folder: Path, partitions: list[Partition]) -> None:
        self.folder = folder
        self.partitions = partitions

    @classmethod
    def open(cls, run_folder: Path) -> History:
        """Look through the footers of a run's files.

        Raises:
            BadInput: a file is missing, cannot be read, or is not of a history.
        """
        _footer(run_folder / "operations.parquet", OPERATIONS)
        folder = run_folder / "messages.parquet"
        if not folder.is_dir():
            raise _missing(folder)
        found: dict[tuple[str, int], Partition] = {}
        for path in sorted(folder.glob("*.parquet")):
            for partition in _partitions(path):
                place = partition.topic, partition.partition
                if place in found:
                    raise BadInput(
                        f"{place[0]}/{place[1]} is both in {found[place].file} and in {path}, but belongs "
                        f"in one file. {_remedy(path)}"
                    )
                found[place] = partition
        return cls(run_folder, [found[place] for place in sorted(found)])

    @cached_property
    def operations(self) -> pa.Table:
        """All operations, schema OPERATIONS, in `op` order, whatever order the file has."""
        path = self.folder / "operations.parquet"
        table = _by_op(_read(path, lambda: pq.ParquetFile(path).read()).replace_schema_metadata())
        first = 0
        for chunk in table["op"].chunks:
            if not np.array_equal(chunk.to_numpy(), np.arange(first, first + len(chunk))):
                raise BadInput(f"{path}: its `op` do not count from 0 without gaps (docs/history.md). {_remedy(path)}")
            first += len(chunk)
        return table

    @cached_property
    def faults(self) -> pa.Table:
        """All faults, schema FAULTS; none where the run recorded none."""
        path = self.folder / "faults.parquet"
        if not path.exists():
            return FAULTS.empty_table()
        _footer(path, FAULTS)
        return _read(path, lambda: pq.ParquetFile(path).read())

    def messages(self, topic: str, partition: int) -> pa.Table:
        """Return the messages of a partition, schema MESSAGES, by `op`; none where there are none."""
        for known in self.partitions:
            if (known.topic, known.partition) == (topic, partition):
                return read_partition(known)
        return MESSAGES.empty_table()

    def audit(self, topic: str, partition: int) -> Audit | None:
        """Return what the final read knew of a partition; None where it did not come to it."""
        return self._audits.get((topic, partition))

    @cached_property
    def _audits(self) -> dict[tuple[str, int], Audit]:
        path = self.folder / "operations.parquet"
        metadata = _footer(path, OPERATIONS).schema.to_arrow_schema().metadata or {}
        return {
            (row["topic"], row["partition"]): Bounds(row["low"], row["end"], row["complete"])
            for row in json.loads(metadata.get(AUDIT_KEY, b"[]"))
        }


def read_partition(partition: Partition) -> pa.Table:
    """Return the messages of a partition from its descriptor alone, as a task elsewhere can.

    Raises:
        BadInput: the file is gone or damaged.
    """
    path, groups = partition.file, list(partition.row_groups)
    table = _read(path, lambda: pq.ParquetFile(path).read_row_groups(groups))
    return _by_op(table.unify_dictionaries())


def _by_op(table: pa.Table) -> pa.Table:
    """Return a table with its rows in `op` order, those of one operation in the order that they have."""
    last = None
    for chunk in table["op"].chunks:
        op = chunk.to_numpy()
        if op.size and ((last is not None and op[0] < last) or np.any(op[1:] < op[:-1])):
            order = np.argsort(table["op"].to_numpy(), kind="stable")
            return table.unify_dictionaries().take(pa.array(order))
        last = op[-1] if op.size else last
    return table


def _partitions(path: Path) -> list[Partition]:
    """Return the partitions in one file of messages."""
    footer = _footer(path, MESSAGES)
    groups: dict[tuple[str, int], list[int]] = {}
    for index in range(footer.num_row_groups):
        group = footer.row_group(index)
        if not group.num_rows:
            continue
        place = tuple(_constant(group, path, name) for name in ("topic", "partition"))
        groups.setdefault(place, []).append(index)
    return [
        Partition(topic, number, path, tuple(indexes), sum(footer.row_group(i).num_rows for i in indexes))
        for (topic, number), indexes in groups.items()
    ]


def _constant(group: Any, path: Path, name: str) -> Any:
    """Return the one value of a column of a row group."""
    statistics = group.column(MESSAGES.get_field_index(name)).statistics
    if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
        raise BadInput(f"a row group of {path} holds more than one {name}. {_remedy(path)}")
    return statistics.min


def _footer(path: Path, schema: pa.Schema) -> Any:
    if not path.is_file():
        raise _missing(path)
    footer = _read(path, lambda: pq.read_metadata(path))
    if not footer.schema.to_arrow_schema().equals(schema):
        raise BadInput(f"{path} does not have the columns of a history (docs/history.md). {_remedy(path)}")
    return footer


def _read(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path} cannot be read ({error}). {_remedy(path)}") from error


def _missing(path: Path) -> BadInput:
    return BadInput(f"{path} is missing. {_remedy(path)}")


def _remedy(path: Path) -> str:
    return (
        "Name a run folder (STORE/<scenario>/<run>). Where its wal/ still holds segments, delete its "
        f"operations.parquet, and `chaoskit check` on the folder writes {path.name} anew"
    )
