"""When the instances of an application ran, and how they ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, integers
from chaoskit.contract.workloads.instances import instance_number, of_instances
from chaoskit.model.observations.pipeline import EXIT, START


class Begins(NamedTuple):
    """The beginnings of instances, in order of time.

    Attributes:
        instance: number of the instance.
        at_ns: when it began.
        op: the operation.
    """

    instance: Ints
    at_ns: Ints
    op: Ints

    @classmethod
    def of(cls, operations: pa.Table) -> Begins:
        """Read them from all operations of a run."""
        rows = of_instances(operations, START)
        return cls(_numbers(rows), integers(rows["start_ns"]), integers(rows["op"]))

    def life(self, instance: int, at_ns: int) -> int:
        """Return the operation by which an instance began the life in which a time falls; `NONE`: nobody knows."""
        row = self._row(instance, at_ns)
        return NONE if row is None else int(self.op[row])

    def of_life(self, instance: int, at_ns: int) -> int:
        """Return when an instance began the life in which a time falls; `NONE`, before all times: nobody knows."""
        row = self._row(instance, at_ns)
        return NONE if row is None else int(self.at_ns[row])

    def _row(self, instance: int, at_ns: int) -> int | None:
        rows = np.flatnonzero((self.instance == instance) & (self.at_ns <= at_ns))
        return int(rows[-1]) if rows.size else None


class Ends(NamedTuple):
    """The ends of instances, in order of time.

    Attributes:
        instance: number of the instance.
        at_ns: when it ended.
        words: how, such as `signal SIGKILL`.
        op: the operation.
    """

    instance: Ints
    at_ns: Ints
    words: list[str]
    op: Ints

    @classmethod
    def of(cls, operations: pa.Table) -> Ends:
        """Read them from all operations of a run."""
        rows = of_instances(operations, EXIT)
        words = [word or "" for word in rows["error"].cast(pa.string()).to_pylist()]
        return cls(_numbers(rows), integers(rows["start_ns"]), words, integers(rows["op"]))

    def between(self, since_ns: int, until_ns: int, instance: int | None = None) -> int | None:
        """Return which end was the first in an interval, of one instance or of any; None: there was none."""
        chosen = (self.at_ns >= since_ns) & (self.at_ns <= until_ns)
        if instance is not None:
            chosen &= self.instance == instance
        rows = np.flatnonzero(chosen)
        return int(rows[0]) if rows.size else None


def _numbers(rows: pa.Table) -> Ints:
    names = rows["client"].cast(pa.string()).to_pylist()
    return np.array([instance_number(name) for name in names], np.int64)
