"""Parquet files with a checksum in each page: damage is noticed when it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base.reading import RESTORE, reading


def write(table: pa.Table, path: Path) -> None:
    """Write a table."""
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def writer(path: Path, schema: pa.Schema, **options: Any) -> pq.ParquetWriter:
    """Return a writer of a file, with further options of pyarrow's."""
    return pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True, **options)


def opened(path: Path, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
    """Open a file; reading a page that does not match its checksum raises an OSError.

    Args:
        path: the file.
        metadata: its footer, if it was parsed before.
    """
    return pq.ParquetFile(path, metadata=metadata, page_checksum_verification=True)


def sound(table: pa.Table) -> pa.Table:
    """Return a table that was read, if it is consistent: a footer has no checksum.

    Raises:
        ValueError: columns differ in length, a text is none, or a value is missing.
    """
    table.validate(full=True)
    for field, column in zip(table.schema, table.columns, strict=True):
        if not field.nullable and column.null_count:
            raise ValueError(f"{column.null_count:,} values of {field.name} are missing")
    return table


def read(
    path: Path, schema: pa.Schema, remedy: str = RESTORE, examined: Callable[[pa.Table], pa.Table] = sound
) -> pa.Table:
    """Return the content of a file.

    Args:
        path: the file.
        schema: the columns that it must have.
        remedy: what the user can do if it is damaged.
        examined: returns the table, or raises ValueError if it is damaged.

    Raises:
        BadInput: the file is missing, damaged, or has other columns.
    """
    with reading(path, remedy):
        file = opened(path)
        if not file.schema_arrow.equals(schema):
            raise ValueError("it has other columns")
        return examined(file.read())
