"""Which instance of an application is to blame for a finding, and when it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from chaoskit.contract.workloads.application import APPLICATION
from chaoskit.model.observations.pipeline import EXIT


def with_blamed(examples: Iterable[dict[str, Any]], operations: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield examples of findings, each with the instance that is to blame if the record proves one.

    `blamed` has its name (`instance`), the moment (`at_ns`): its end, or else that of the finding, and how it ended
    (`ended`), if it did.

    Args:
        examples: the examples; in `other_ops` is the operation by which the instance ended, or else had begun.
        operations: the operations of the history.
    """
    for example in examples:
        (row,) = operations.slice(example["other_ops"][0], 1).to_pylist() if "other_ops" in example else [None]
        if row is None or "at_ns" not in example or not row["client"].startswith(f"{APPLICATION}-"):
            yield example
        elif row["f"] == EXIT:
            blamed = {"instance": row["client"], "at_ns": row["start_ns"], "ended": row["error"] or ""}
            yield {**example, "blamed": blamed}
        else:
            yield {**example, "blamed": {"instance": row["client"], "at_ns": example["at_ns"]}}
