"""The side table jepsen.parquet: data of a Jepsen history that the chaoskit schema lacks, for a faithful export.

| kind | number | topic, partition | text |
|---|---|---|---|
| `key` | | its place | the key, as EDN |
| `value` | chaoskit's value | | Jepsen's value |
| `operation` | an `assign` or `subscribe` | | its keys |
| `rebalance` | the operation during which it happened | | the log of rebalances |
| `inserted` | the `assign` inserted for it | | |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base import parquet
from chaoskit.interop.jepsen.names import FIRST, Interned

SIDE_FILE = "jepsen.parquet"
SCHEMA = pa.schema(
    [
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("number", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("text", pa.string()),
    ]
)


class Side:
    """Builds the side table."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._tables: list[pa.Table] = []

    def key(self, place: tuple[str, int], text: str) -> None:
        """Add a key and its place."""
        self._rows.append({"kind": "key", "topic": place[0], "partition": place[1], "text": text})

    def operation(self, op: int, text: str) -> None:
        """Add the keys of an `assign` or `subscribe`."""
        self._rows.append({"kind": "operation", "number": op, "text": text})

    def rebalance(self, op: int, inserted: int, text: str) -> None:
        """Add the rebalances during an operation, and the operation inserted for them."""
        self._rows.append({"kind": "rebalance", "number": op, "text": text})
        self._rows.append({"kind": "inserted", "number": inserted})

    def values(self, values: tuple[np.ndarray, np.ndarray], names: Interned) -> None:
        """Add values: chaoskit's values and the numbers of Jepsen's values."""
        ours, numbers = values
        texts = pa.array(numbers).cast(pa.string())
        named = np.flatnonzero(numbers >= FIRST)
        if named.size:
            replaced = texts.to_pylist()
            for at in named.tolist():
                replaced[at] = names.text(int(numbers[at]))
            texts = pa.array(replaced, pa.string())
        size = ours.size
        kind = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), pa.array(["value"]))
        nothing = [pa.nulls(size, pa.string()), pa.nulls(size, pa.int32())]
        self._tables.append(pa.table([kind, pa.array(ours), *nothing, texts], schema=SCHEMA))

    def write(self, path: Path) -> None:
        """Write the table."""
        tables = [pa.Table.from_pylist(self._rows, SCHEMA), *self._tables]
        parquet.write(pa.concat_tables(tables).unify_dictionaries(), path)
