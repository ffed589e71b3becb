"""Parquet files with a checksum in each page: damage is noticed when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


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
