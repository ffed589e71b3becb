"""Reads the history of a run. Partitions are located from the footers alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base import parquet
from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading
from chaoskit.history.compacting.dataset import AUDITS_KEY, DRIVERS_KEY, TOPICS_KEY
from chaoskit.history.compacting.drivers import DriverTold, parse_drivers
from chaoskit.history.compacting.placements import FILE as PLACEMENTS_FILE
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.audits import parse_audits
from chaoskit.history.format.fault import Fault
from chaoskit.history.format.models import parse_topics
from chaoskit.history.format.sound import all_equal, faults_sound, sound
from chaoskit.model.audit import Audit
from chaoskit.model.place import Place
from chaoskit.model.tables import FAULTS, MESSAGES, OBSERVATIONS, OPERATIONS, PLACEMENTS


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one partition in one file.

    Attributes:
        file: the Parquet file.
        row_groups: indices of the row groups, in `op` order.
        rows: number of rows in them.
    """

    file: Path
    row_groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """The location of the rows of one partition.

    Attributes:
        topic: its topic.
        partition: its number.
        messages: messages sent to it and received from it; None if there are none.
        observations: other observations of it; None if there are none.
    """

    topic: str
    partition: int
    messages: Piece | None
    observations: Piece | None

    @property
    def rows(self) -> int:
        """Number of messages and observations."""
        return sum(piece.rows for piece in (self.messages, self.observations) if piece)


class History:
    """The history in one run folder; tables are read on first access.

    Attributes:
        folder: the run folder.
        partitions: the location of each partition's rows, by topic and number.
        models: the name of the model of each topic.
    """

    def __init__(self, folder: Path, partitions: list[StoredPartition], models: Mapping[str, str]) -> None:
        self.folder = folder
        self.partitions = partitions
        self.models = models

    @classmethod
    def open(cls, run_folder: Path) -> History:
        """Open a history by reading the footers of its files.

        Raises:
            BadInput: a file is missing, cannot be read, or is not part of a history.
        """
        path = run_folder / "operations.parquet"
        metadata = _metadata(path)
        if TOPICS_KEY not in metadata:
            raise BadInput(
                f"{run_folder} was recorded by a pre-release version of chaoskit with a different folder layout; "
                "run the scenario again"
            )
        with history_file(path):
            models = parse_topics(metadata[TOPICS_KEY])
        messages = _pieces(run_folder / "messages.parquet", MESSAGES)
        observations = _pieces(run_folder / "observations.parquet", OBSERVATIONS)
        places = sorted(messages.keys() | observations.keys())
        if unknown := [place for place in places if place[0] not in models]:
            raise BadInput(f"{path} does not declare the model of topic {unknown[0][0]}. {_remedy(path)}")
        partitions = [StoredPartition(*place, messages.get(place), observations.get(place)) for place in places]
        return cls(run_folder, partitions, models)

    @cached_property
    def operations(self) -> pa.Table:
        """All operations, schema OPERATIONS, in `op` order, regardless of their order in the file."""
        path = self.folder / "operations.parquet"
        table = _by_op(read_operations(path).replace_schema_metadata())
        first = 0
        for chunk in table["op"].chunks:
            if not np.array_equal(chunk.to_numpy(), np.arange(first, first + len(chunk))):
                raise BadInput(f"{path}: `op` must count from 0 without gaps (docs/history.md). {_remedy(path)}")
            first += len(chunk)
        return table

    @cached_property
    def faults(self) -> pa.Table:
        """All faults, schema FAULTS; empty if the run recorded none."""
        path = self.folder / "faults.parquet"
        if not path.exists():
            return FAULTS.empty_table()
        _footer(path, FAULTS)
        with history_file(path):
            return faults_sound(parquet.opened(path).read())

    @cached_property
    def recorded_faults(self) -> tuple[Fault, ...]:
        """The faults of the run, by number.

        Raises:
            BadInput: one is damaged.
        """
        with history_file(self.folder / "faults.parquet"):
            return tuple(map(Fault.read, self.faults.to_pylist()))

    @cached_property
    def placements(self) -> Placements:
        """Where partitions were stored; unknown if the run recorded none."""
        path = self.folder / PLACEMENTS_FILE
        if not path.exists():
            return Placements(PLACEMENTS.empty_table())
        with history_file(path):
            earlier = "epoch" not in open_file(path).schema_arrow.names
        _footer(path, PLACEMENTS.remove(PLACEMENTS.get_field_index("epoch")) if earlier else PLACEMENTS)
        with history_file(path):
            table = parquet.opened(path).read()
            rows = (
                table.append_column(PLACEMENTS.field("epoch"), pa.nulls(len(table), pa.int64())) if earlier else table
            )
            return Placements(sound(rows))

    def messages(self, topic: str, partition: int) -> pa.Table:
        """Return the messages of a partition, schema MESSAGES, in `op` order; empty if there are none."""
        for known in self.partitions:
            if (known.topic, known.partition) == (topic, partition):
                return read_messages(known)
        return MESSAGES.empty_table()

    def audit(self, topic: str, partition: int) -> Audit | None:
        """Return the result of the final read of a partition; None if it was not reached."""
        return self._audits.get((topic, partition))

    @cached_property
    def drivers(self) -> list[DriverTold]:
        """The machines that ran clients, if the harness did not."""
        path = self.folder / "operations.parquet"
        with history_file(path):
            return parse_drivers(_metadata(path).get(DRIVERS_KEY, b"[]"))

    @cached_property
    def _audits(self) -> dict[Place, Audit]:
        path = self.folder / "operations.parquet"
        with history_file(path):
            return parse_audits(_metadata(path).get(AUDITS_KEY, b"[]"))


def read_messages(partition: StoredPartition) -> pa.Table:
    """Return the messages of a partition, schema MESSAGES. Needs only the descriptor, so a remote task can call it.

    Raises:
        BadInput: the file is missing or damaged.
    """
    return _read_piece(partition, partition.messages, MESSAGES)


def read_observations(partition: StoredPartition) -> pa.Table:
    """Return the observations of a partition, schema OBSERVATIONS; see `read_messages`."""
    return _read_piece(partition, partition.observations, OBSERVATIONS)


def each_observations(partition: StoredPartition, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns of the observations of a partition, a row group at a time; see `read_messages`."""
    if (piece := partition.observations) is None:
        return
    for group in piece.row_groups:
        with history_file(piece.file):
            table = sound(open_file(piece.file).read_row_groups([group], columns=list(columns)))
        yield table


def read_operations(path: Path, groups: Sequence[int] | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    """Return operations as they are in their file.

    Args:
        path: operations.parquet.
        groups: numbers of row groups; None: all.
        columns: names of columns; None: all.

    Raises:
        BadInput: the file is missing or damaged.
    """
    with history_file(path):
        file = open_file(path)
        chosen = range(file.num_row_groups) if groups is None else groups
        return sound(file.read_row_groups(list(chosen), columns=columns))


def group_sizes(path: Path) -> list[int]:
    """Return the number of rows of each row group of a file of a history, from its footer.

    Raises:
        BadInput: the file is missing or damaged.
    """
    with history_file(path):
        footer = open_file(path).metadata
        return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]


def _read_piece(partition: StoredPartition, piece: Piece | None, schema: pa.Schema) -> pa.Table:
    if piece is None:
        return schema.empty_table()
    with history_file(piece.file):
        table = sound(open_file(piece.file).read_row_groups(list(piece.row_groups)))
        all_equal(table, topic=partition.topic, partition=partition.partition)
    return _by_op(table.unify_dictionaries())


def open_file(path: Path) -> pq.ParquetFile:
    """Open a file of a history; its footer is parsed once, regardless of the number of partitions."""
    state = path.stat()
    return parquet.opened(path, metadata=_parsed_footer(path, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=8)
def _parsed_footer(path: Path, size: int, modified_ns: int) -> pq.FileMetaData:
    return pq.read_metadata(path)


def _by_op(table: pa.Table) -> pa.Table:
    """Return a table sorted by `op`; the sort is stable."""
    last = None
    for chunk in table["op"].chunks:
        op = chunk.to_numpy()
        if op.size and ((last is not None and op[0] < last) or np.any(op[1:] < op[:-1])):
            order = np.argsort(table["op"].to_numpy(), kind="stable")
            return table.unify_dictionaries().take(pa.array(order))
        last = op[-1] if op.size else last
    return table


def _pieces(folder: Path, schema: pa.Schema) -> dict[Place, Piece]:
    """Return the location of each partition's rows in a folder of files."""
    if not folder.is_dir():
        raise _missing(folder)
    pieces: dict[Place, Piece] = {}
    for path in sorted(folder.glob("*.parquet")):
        for place, piece in _pieces_in(path, schema):
            if place in pieces:
                raise BadInput(
                    f"{place[0]}/{place[1]} is in {pieces[place].file} and in {path}, but must be in "
                    f"one file. {_remedy(path)}"
                )
            pieces[place] = piece
    return pieces


def _pieces_in(path: Path, schema: pa.Schema) -> list[tuple[Place, Piece]]:
    footer = _footer(path, schema)
    groups: dict[Place, list[int]] = {}
    with history_file(path):
        for index in range(footer.num_row_groups):
            group = footer.row_group(index)
            if not group.num_rows:
                continue
            topic, partition = (_constant(group, path, schema.get_field_index(name)) for name in ("topic", "partition"))
            groups.setdefault((topic, partition), []).append(index)
        return [
            (place, Piece(path, tuple(indexes), sum(footer.row_group(index).num_rows for index in indexes)))
            for place, indexes in groups.items()
        ]


def _constant(group: Any, path: Path, column: int) -> Any:
    """Return the constant value of a column of a row group."""
    chunk = group.column(column)
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
        raise BadInput(f"a row group of {path} holds more than one {chunk.path_in_schema}. {_remedy(path)}")
    return statistics.min


def _metadata(path: Path) -> Mapping[bytes, bytes]:
    return _footer(path, OPERATIONS).schema.to_arrow_schema().metadata or {}


def _footer(path: Path, schema: pa.Schema) -> Any:
    if not path.is_file():
        raise _missing(path)
    with history_file(path):
        footer = open_file(path).metadata
        stored_schema = footer.schema.to_arrow_schema()
    if not stored_schema.equals(schema):
        raise BadInput(f"{path} does not have the columns of a history (docs/history.md). {_remedy(path)}")
    return footer


@contextmanager
def history_file(path: Path) -> Iterator[None]:
    """Turn errors of reading a file of a history into BadInput; see `chaoskit.base.reading`."""
    with reading(path, _remedy(path)):
        yield


def _missing(path: Path) -> BadInput:
    return BadInput(f"{path} is missing. {_remedy(path)}")


def _remedy(path: Path) -> str:
    return (
        "Specify a run folder (STORE/<scenario>/<run>). If its wal/ still has segments, delete its "
        f"operations.parquet and run `chaoskit check` on the folder to write {path.name} again"
    )
