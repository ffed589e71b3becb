"""Reads the history of a run. Where each partition is, is known from the footers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base.errors import BadInput
from chaoskit.history.audits import Audit, Place, parse_audits
from chaoskit.history.dataset import AUDITS_KEY, TOPICS_KEY
from chaoskit.history.models import DataModel, parse_topics
from chaoskit.history.schema import FAULTS, MESSAGES, OBSERVATIONS, OPERATIONS


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one partition in one file.

    Attributes:
        file: the Parquet file.
        row_groups: which of its row groups, in `op` order.
        rows: how many rows these have.
    """

    file: Path
    row_groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Partition:
    """Where the rows of one partition are.

    Attributes:
        topic: its topic.
        partition: its number.
        messages: what was sent to it and received from it; None: nothing.
        observations: what else clients were told of it; None: nothing.
    """

    topic: str
    partition: int
    messages: Piece | None
    observations: Piece | None

    @property
    def rows(self) -> int:
        """How many messages and observations there are."""
        return sum(piece.rows for piece in (self.messages, self.observations) if piece)


class History:
    """The history in one run folder; tables are read when first asked for.

    Attributes:
        folder: the run folder.
        partitions: where the rows of each partition are, by topic and number.
        models: what each topic is.
    """

    def __init__(self, folder: Path, partitions: list[Partition], models: Mapping[str, DataModel]) -> None:
        self.folder = folder
        self.partitions = partitions
        self.models = models

    @classmethod
    def open(cls, run_folder: Path) -> History:
        """Look through the footers of a run's files.

        Raises:
            BadInput: a file is missing, cannot be read, or is not of a history.
        """
        path = run_folder / "operations.parquet"
        metadata = _metadata(path)
        if TOPICS_KEY not in metadata:
            raise BadInput(
                f"{run_folder} was recorded by a chaoskit older than its first release, whose run folders have another "
                "shape: run the scenario again"
            )
        models = _read(path, lambda: parse_topics(metadata[TOPICS_KEY]))
        messages = _pieces(run_folder / "messages.parquet", MESSAGES)
        observations = _pieces(run_folder / "observations.parquet", OBSERVATIONS)
        places = sorted(messages.keys() | observations.keys())
        if unknown := [place for place in places if place[0] not in models]:
            raise BadInput(f"{path} does not say what topic {unknown[0][0]} is. {_remedy(path)}")
        found = [Partition(*place, messages.get(place), observations.get(place)) for place in places]
        return cls(run_folder, found, models)

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
                return read_messages(known)
        return MESSAGES.empty_table()

    def audit(self, topic: str, partition: int) -> Audit | None:
        """Return what the final read knew of a partition; None where it did not come to it."""
        return self._audits.get((topic, partition))

    @cached_property
    def _audits(self) -> dict[Place, Audit]:
        path = self.folder / "operations.parquet"
        return _read(path, lambda: parse_audits(_metadata(path).get(AUDITS_KEY, b"[]")))  # type: ignore[no-any-return]


def read_messages(partition: Partition) -> pa.Table:
    """Return the messages of a partition, schema MESSAGES, from its descriptor alone, as a task elsewhere can.

    Raises:
        BadInput: the file is gone or damaged.
    """
    return _read_piece(partition.messages, MESSAGES)


def read_observations(partition: Partition) -> pa.Table:
    """Return the observations of a partition, schema OBSERVATIONS; as `read_messages`."""
    return _read_piece(partition.observations, OBSERVATIONS)


def _read_piece(piece: Piece | None, schema: pa.Schema) -> pa.Table:
    if piece is None:
        return schema.empty_table()
    table = _read(piece.file, lambda: open_file(piece.file).read_row_groups(list(piece.row_groups)))
    return _by_op(table.unify_dictionaries())


def open_file(path: Path) -> pq.ParquetFile:
    """Open a file of a history; its footer is parsed once, however many partitions it holds."""
    state = path.stat()
    return pq.ParquetFile(path, metadata=_parsed_footer(path, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=8)
def _parsed_footer(path: Path, size: int, modified_ns: int) -> pq.FileMetaData:
    return pq.read_metadata(path)


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


def _pieces(folder: Path, schema: pa.Schema) -> dict[Place, Piece]:
    """Return where the rows of each partition are in a folder of files."""
    if not folder.is_dir():
        raise _missing(folder)
    found: dict[Place, Piece] = {}
    for path in sorted(folder.glob("*.parquet")):
        for place, piece in _pieces_in(path, schema):
            if place in found:
                raise BadInput(
                    f"{place[0]}/{place[1]} is both in {found[place].file} and in {path}, but belongs "
                    f"in one file. {_remedy(path)}"
                )
            found[place] = piece
    return found


def _pieces_in(path: Path, schema: pa.Schema) -> list[tuple[Place, Piece]]:
    footer = _footer(path, schema)
    groups: dict[Place, list[int]] = {}
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
    """Return the one value of a column of a row group."""
    found = group.column(column)
    statistics = found.statistics
    if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
        raise BadInput(f"a row group of {path} holds more than one {found.path_in_schema}. {_remedy(path)}")
    return statistics.min


def _metadata(path: Path) -> Mapping[bytes, bytes]:
    return _footer(path, OPERATIONS).schema.to_arrow_schema().metadata or {}


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
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} cannot be read ({error}). {_remedy(path)}") from error


def _missing(path: Path) -> BadInput:
    return BadInput(f"{path} is missing. {_remedy(path)}")


def _remedy(path: Path) -> str:
    return (
        "Name a run folder (STORE/<scenario>/<run>). Where its wal/ still holds segments, delete its "
        f"operations.parquet, and `chaoskit check` on the folder writes {path.name} anew"
    )
