"""Units of work, and their division into tasks.

A unit is one partition's messages, or some row groups of a run's operations. Small units share a task, so
that a run's operations are read once for all of them; a large unit has its own task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoskit.contract.checkers.checker import PartitionSetting
from chaoskit.contract.workloads.datamodel import LOG, DataModel
from chaoskit.history.reading.reader import StoredPartition
from chaoskit.judge.timing.timing import Timing

TASK_ROWS_MIN, TASK_ROWS = 250_000, 8_000_000
"""Maximum number of rows of units that share a task, even if cores are idle."""

MESSAGE_BYTES = 220
"""Memory per message of a task's largest partition: the rows, their operations, the checkers' arrays
(measured by benchmarks/check_spark.py)."""

OPERATION_BYTES = 60
"""Memory per operation that a task keeps."""

TASK_BYTES = 250 * 2**20
"""Base memory of a Python worker: libraries, one row group of operations."""


@dataclass(frozen=True)
class Unit:
    """A piece of work.

    Attributes:
        run: number of the run in the analysis.
        folder: its folder, as seen by the workers.
        timing: the times by which its sends are told apart.
        rows: number of rows.
        partition: the partition to read; None for row groups of operations.
        model: the data model of its topic.
        setting: context for checking the partition; None to only measure it.
        groups: row groups of operations.parquet.
    """

    run: int
    folder: Path
    timing: Timing
    rows: int
    partition: StoredPartition | None = None
    model: DataModel = LOG
    setting: PartitionSetting | None = None
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class SparkTask:
    """Units that one task processes, one after the other."""

    units: tuple[Unit, ...]

    @property
    def rows(self) -> int:
        """Total number of rows of its units."""
        return sum(unit.rows for unit in self.units)

    @property
    def bytes(self) -> int:
        """Estimated peak memory."""
        largest = max((unit.rows for unit in self.units if unit.partition is not None), default=0)
        return TASK_BYTES + largest * MESSAGE_BYTES + max(self.rows - largest, 0) * OPERATION_BYTES


def into_tasks(units: Iterable[Unit], task_rows: int = TASK_ROWS) -> list[SparkTask]:
    """Return tasks, largest first; units of the same run stay together if they fit."""
    tasks: list[SparkTask] = []
    gathered: list[Unit] = []
    rows = 0
    for unit in units:
        if gathered and rows + unit.rows > task_rows:
            tasks.append(SparkTask(tuple(gathered)))
            gathered, rows = [], 0
        gathered.append(unit)
        rows += unit.rows
    if gathered:
        tasks.append(SparkTask(tuple(gathered)))
    return sorted(tasks, key=lambda task: -task.rows)


def waves(tasks: Sequence[SparkTask], memory: int, cores: int) -> list[list[SparkTask]]:
    """Return waves of tasks that may run concurrently.

    Tasks that fit into memory on all cores concurrently form the last wave. Before it come larger tasks, as many
    at a time as fit into memory, and at least one.

    Args:
        tasks: tasks, largest first.
        memory: memory in bytes for all Python workers of one machine together.
        cores: number of concurrent tasks on one machine.
    """
    outsized = sorted((task for task in tasks if task.bytes * cores > memory), key=lambda task: -task.bytes)
    done: list[list[SparkTask]] = []
    while outsized:
        at_once = max(1, memory // outsized[0].bytes)
        done.append(outsized[:at_once])
        outsized = outsized[at_once:]
    rest = [task for task in tasks if task.bytes * cores <= memory]
    return [*done, rest] if rest else done
