"""Runs the tasks of Spark in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from spark_analysis.units import SparkTask


def run_here(
    _: Any, tasks: list[SparkTask], function: Callable[[SparkTask], Iterator[pa.RecordBatch]], *__: Any
) -> pa.Table:
    """Stand for `spark_analysis.session.run_tasks`."""
    return pa.Table.from_batches([batch for task in tasks for batch in function(task)])
