"""`spark.read.format("chaoskit")`: the histories of all runs of a store as DataFrames.

    register(spark)
    spark.read.format("chaoskit").option("table", "messages").load("chaos-store")

Tables: `operations` (default), `messages`, `observations`, `faults`, `verdicts`; each has the columns `run` and
`scenario` before its own. Each task reads one partition of messages or observations, or up to eight row groups
of operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from chaoskit.base import store
from chaoskit.base.errors import BadInput, nearest
from chaoskit.history.format.sound import sound
from chaoskit.history.reading.reader import History, group_sizes, history_file, open_file
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.model.tables import FAULTS, MESSAGES, OBSERVATIONS, OPERATIONS

VERDICTS = pa.schema(
    [
        pa.field("seed", pa.int64()),
        pa.field("verdict", pa.string()),
        pa.field("reasons", pa.list_(pa.string())),
        *(
            pa.field(name, pa.int64())
            for name in ("sent", "acked", "failed", "indeterminate", "never_made", "received")
        ),
        pa.field("anomalies", pa.map_(pa.string(), pa.int64())),
        pa.field("json", pa.string()),
    ]
)
"""One row per judged run; `json` is its verdict.json."""

_TABLES = {
    "operations": OPERATIONS,
    "messages": MESSAGES,
    "observations": OBSERVATIONS,
    "faults": FAULTS,
    "verdicts": VERDICTS,
}
_BY_PARTITION = ("messages", "observations")
_GROUPS_A_TASK = 8
_BATCH_ROWS = 65_536


def register(spark: SparkSession) -> None:
    """Register the format `chaoskit` with a session."""
    spark.dataSource.register(HistorySource)


class HistorySource(DataSource):
    """The data source; its options are `table` and the path."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "chaoskit"

    def schema(self) -> StructType:
        """Return the columns of the requested table."""
        return from_arrow_schema(plain(_TABLES[self._table()]))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader, which plans and reads."""
        path = self.options.get("path")
        if not path:
            raise BadInput('spark.read.format("chaoskit"): no store specified; specify one: .load("chaos-store")')
        return HistoryReader(Path(path), self._table())

    def _table(self) -> str:
        table = self.options.get("table", "operations")
        if table not in _TABLES:
            raise BadInput(f'option "table": there is no table {table!r}; {nearest(table, _TABLES)}')
        return table


@dataclass
class _Piece(InputPartition):
    """Row groups of a file, or a complete small file, of one run."""

    run: str
    scenario: str
    file: str
    groups: tuple[int, ...] | None = None


class HistoryReader(DataSourceReader):
    """Plans from footers alone; each piece is read in a task.

    Args:
        path: the store.
        table: name of the table.
    """

    def __init__(self, path: Path, table: str) -> None:
        self._path = path.resolve()
        self._table = table

    def partitions(self) -> list[InputPartition]:
        """Return the pieces of all runs that have the table; unfinished and damaged runs are skipped."""
        return [piece for folder in store.runs(self._path) for piece in self._pieces(folder)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one piece."""
        assert isinstance(partition, _Piece)
        columns = plain(_TABLES[self._table])
        for batch in self._batches(partition):
            names = [pa.repeat(text, batch.num_rows) for text in (partition.run, partition.scenario)]
            cast = [column.cast(field.type) for column, field in zip(batch.columns, list(columns)[2:], strict=True)]
            yield pa.RecordBatch.from_arrays([*names, *cast], schema=columns)

    def _pieces(self, folder: Path) -> Iterator[_Piece]:
        run, scenario = store.run_name(folder), folder.parent.name
        if self._table == "verdicts":
            path = folder / store.VERDICT
        elif self._table in _BY_PARTITION:
            if (folder / f"{self._table}.parquet").is_dir() and (folder / "operations.parquet").is_file():
                for partition in History.open(folder).partitions:
                    if (piece := getattr(partition, self._table)) is not None:
                        yield _Piece(run, scenario, str(piece.file), piece.row_groups)
            return
        else:
            path = folder / f"{self._table}.parquet"
        if not path.is_file():
            return
        count = len(group_sizes(path)) if path.suffix == ".parquet" else 1
        for first in range(0, count, _GROUPS_A_TASK):
            yield _Piece(run, scenario, str(path), tuple(range(first, min(first + _GROUPS_A_TASK, count))))

    def _batches(self, piece: _Piece) -> Iterator[pa.RecordBatch]:
        if self._table == "verdicts":
            yield _verdict(read_verdict(Path(piece.file).parent), Path(piece.file).read_text(encoding="utf-8"))
            return
        path = Path(piece.file)
        with history_file(path):
            file = open_file(path)
        for group in piece.groups or ():
            with history_file(path):
                table = sound(file.read_row_group(group))
            yield from table.to_batches(max_chunksize=_BATCH_ROWS)


def plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema with `run` and `scenario` before its own columns, and strings instead of dictionaries."""
    fields = [pa.field("run", pa.string()), pa.field("scenario", pa.string())]
    for field in schema:
        words = pa.types.is_dictionary(field.type)
        fields.append(pa.field(field.name, field.type.value_type if words else field.type))
    return pa.schema(fields)


def _verdict(content: dict[str, Any], text: str) -> pa.RecordBatch:
    row = {
        "seed": content["seed"],
        "verdict": content["verdict"],
        "reasons": content["reasons"],
        **content["counts"],
        "anomalies": [(name, anomaly["count"]) for name, anomaly in content["anomalies"].items()],
        "json": text,
    }
    return pa.RecordBatch.from_pylist([row], VERDICTS)
