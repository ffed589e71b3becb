"""The ground truth of a history: what must be found, and the causes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from chaoskit.contract.checkers.checker import FINDINGS

TRUTH = pa.schema(
    [
        pa.field("anomaly", pa.string(), nullable=False),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("value", pa.int64()),
        pa.field("position", pa.int64()),
        pa.field("op", pa.int64()),
        pa.field("cause", pa.string(), nullable=False),
    ]
)
"""One row per anomaly that must be found, at least; the first columns are those of FINDINGS. A null matches any
value of the finding."""

assert set(TRUTH.names) - {"cause"} <= set(FINDINGS.names)


def truth_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows of ground truth as a table."""
    return pa.Table.from_pylist(rows, TRUTH)
