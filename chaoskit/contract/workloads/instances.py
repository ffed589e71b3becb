"""The instances of an application in the history: their operations, and their numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import is_one_of
from chaoskit.contract.workloads.application import APPLICATION


def of_instances(operations: pa.Table, f: str) -> pa.Table:
    """Return the operations of instances of one kind, such as their ends, in order of time."""
    rows = operations.filter(pa.array(is_one_of(operations["f"], [f])))
    own = rows.filter(pc.starts_with(rows["client"].cast(pa.string()), f"{APPLICATION}-"))
    return own.sort_by([("start_ns", "ascending"), ("op", "ascending")])


def instance_number(client: str) -> int:
    """Return the number of an instance by its name, such as `application-0`."""
    return int(client.rpartition("-")[2])
