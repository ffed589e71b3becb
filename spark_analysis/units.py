"""What a task works on, and how work is divided into tasks.

A unit is one partition's messages, or some row groups of a run's operations. Small units share a
task, so that a run's operations are read once for all of them; a large one has a task of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from chaoskit.base.latency import Ints
from chaoskit.contract.checker import Setting
from chaoskit.history.reader import Partition

TASK_ROWS_MIN, TASK_ROWS = 250_000, 8_000_000
"""Rows that several units may have together to share a task: so many even if cores have nothing to do, and
no more."""

MESSAGE_BYTES = 220
"""What a task needs for each message of its largest partition: the rows, their operations, the checkers'
arrays (measured: benchmarks/check_spark.py)."""

OPERATION_BYTES = 60
"""What a task needs for each of the operations that it keeps."""

TASK_BYTES = 250 * 2**20
"""What a Python worker needs besides: libraries, one row group of operations."""


@dataclass(frozen=True)
class Timing:
    """How a run's time is divided.

    Attributes:
        load_start_ns: when all clients started together.
        edges: ascending instants; a duration counts for the segment between two of them.
        instants: ascending instants that no bin of completion times may straddle.
        bin_ns: length of those bins; 1: completion times one by one.
    """

    load_start_ns: int
    edges: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    instants: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    bin_ns: int = 1_000_000


@dataclass(frozen=True)
class Unit:
    """A piece of work.

    Attributes:
        run: number of the run among those analysed.
        folder: its folder, as the workers see it.
        timing: how its time is divided.
        rows: how many rows it has.
        partition: the partition whose rows to read; None: row groups of the operations.
        setting: to check the partition with; None: only measure it.
        groups: row groups of operations.parquet.
    """

    run: int
    folder: Path
    timing: Timing
    rows: int
    partition: Partition | None = None
    setting: Setting | None = None
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Task:
    """Units that one task does, one after the other."""

    units: tuple[Unit, ...]

    @property
    def rows(self) -> int:
        """All rows of its units."""
        return sum(unit.rows for unit in self.units)

    @property
    def bytes(self) -> int:
        """What it needs at its peak, estimated."""
        largest = max((unit.rows for unit in self.units if unit.partition is not None), default=0)
        return TASK_BYTES + largest * MESSAGE_BYTES + max(self.rows - largest, 0) * OPERATION_BYTES


def into_tasks(units: Iterable[Unit], task_rows: int = TASK_ROWS) -> list[Task]:
    """Return tasks, those with the most rows first; units of a run stay together as far as they fit."""
    tasks: list[Task] = []
    gathered: list[Unit] = []
    rows = 0
    for unit in units:
        if gathered and rows + unit.rows > task_rows:
            tasks.append(Task(tuple(gathered)))
            gathered, rows = [], 0
        gathered.append(unit)
        rows += unit.rows
    if gathered:
        tasks.append(Task(tuple(gathered)))
    return sorted(tasks, key=lambda task: -task.rows)


def waves(tasks: Sequence[Task], memory: int, cores: int) -> list[list[Task]]:
    """Return tasks that may run at the same time, wave by wave.

    Tasks that fit beside each other on every core are one wave, the last; before it come those that
    need more, as many at once as the memory holds, and at least one.

    Args:
        tasks: those with the most rows first.
        memory: bytes that the Python workers of one machine may take together.
        cores: how many tasks run on it at once.
    """
    outsized = sorted((task for task in tasks if task.bytes * cores > memory), key=lambda task: -task.bytes)
    done: list[list[Task]] = []
    while outsized:
        at_once = max(1, memory // outsized[0].bytes)
        done.append(outsized[:at_once])
        outsized = outsized[at_once:]
    rest = [task for task in tasks if task.bytes * cores <= memory]
    return [*done, rest] if rest else done
