"""Writes the Parquet files of a history (docs/history.md).

Topic and partition are constant within a row group, so readers locate a partition from the statistics
in the footers. Counters and times rise slowly, so they are delta-encoded and take a byte or two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base import durable, parquet
from chaoskit.history.format.audits import audits_json
from chaoskit.model.audit import Audit
from chaoskit.model.place import Place
from chaoskit.model.tables import OPERATIONS

ROW_GROUP_ROWS = 1_000_000
AUDITS_KEY, TOPICS_KEY, DRIVERS_KEY = b"chaoskit.audits", b"chaoskit.topics", b"chaoskit.drivers"
"""Metadata of operations.parquet: the final read of each partition, the model of each topic, and the drivers."""


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    texts = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    deltas = {field.name: "DELTA_BINARY_PACKED" for field in schema if pa.types.is_integer(field.type)}
    return parquet.writer(
        path,
        schema,
        compression_level=1,  # data is delta-encoded already; higher levels gain little
        use_dictionary=texts,
        column_encoding=deltas,
    )


def write_operations(
    path: Path,
    groups: Iterable[pa.Table],
    audits: Mapping[Place, Audit],
    models: Mapping[str, str],
    drivers: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write operations.parquet, durably.

    Args:
        path: the file.
        groups: tables of schema OPERATIONS, at most ROW_GROUP_ROWS each, in `op` order.
        audits: the final read of each partition; stored in the file's metadata.
        models: the name of the model of each topic; also stored there.
        drivers: the machines that ran clients, with the state of their clocks; also stored there.
    """
    metadata = {AUDITS_KEY: audits_json(audits), TOPICS_KEY: json.dumps(models)}
    if drivers:
        metadata[DRIVERS_KEY] = json.dumps(drivers)
    with _writer(path, OPERATIONS.with_metadata(metadata)) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=ROW_GROUP_ROWS)
    durable.sync(path)


class PartitionsWriter:
    """Writes the folder messages.parquet or observations.parquet: one file per large partition, shared files for small
    ones.

    Args:
        folder: the folder, which must not exist.
        schema: schema of its tables, with `topic` and `partition`.
    """

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir()
        self._folder = folder
        self._schema = schema
        self._files = 0
        self._shared: pq.ParquetWriter | None = None
        self._shared_path = folder
        self._shared_rows = 0

    def write(self, rows: int, groups: Iterable[pa.Table]) -> None:
        """Write one partition; call once for each partition.

        Args:
            rows: number of rows.
            groups: tables of the schema, at most ROW_GROUP_ROWS each, in `op` order.
        """
        if rows > ROW_GROUP_ROWS:
            path = self._next_path()
            with _writer(path, self._schema) as writer:
                _write_groups(writer, groups)
            durable.sync(path)
            return
        if self._shared is None or self._shared_rows + rows > ROW_GROUP_ROWS:
            self._open_shared()
        _write_groups(self._shared, groups)
        self._shared_rows += rows

    def close(self) -> None:
        """Finish the files, durably. If there were no rows, write one empty file."""
        if not self._files:
            self._open_shared()
        self._close_shared()
        durable.sync(self._folder)

    def __enter__(self) -> PartitionsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_shared(self) -> None:
        self._close_shared()
        self._shared_path = self._next_path()
        self._shared = _writer(self._shared_path, self._schema)
        self._shared_rows = 0

    def _close_shared(self) -> None:
        if self._shared is not None:
            self._shared.close()
            durable.sync(self._shared_path)

    def _next_path(self) -> Path:
        self._files += 1
        return self._folder / f"part-{self._files - 1:05}.parquet"


def _write_groups(writer: pq.ParquetWriter, groups: Iterable[pa.Table]) -> None:
    for group in groups:
        writer.write_table(group, row_group_size=ROW_GROUP_ROWS)
