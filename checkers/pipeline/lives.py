"""When the instances of an application ran, and how they ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import Ints, integers
from chaoskit.contract.workloads.application import APPLICATION
from chaoskit.model.observations.pipeline import EXIT


class Ends(NamedTuple):
    """The ends of instances, in order of time.

    Attributes:
        instance: number of the instance.
        at_ns: when it ended.
        words: how, such as `signal SIGKILL`.
    """

    instance: Ints
    at_ns: Ints
    words: list[str]

    @classmethod
    def of(cls, operations: pa.Table) -> Ends:
        """Read them from all operations of a run."""
        client = operations["client"].cast(pa.string())
        chosen = pc.and_(pc.starts_with(client, f"{APPLICATION}-"), pc.equal(operations["f"].cast(pa.string()), EXIT))
        rows = operations.filter(chosen)
        number = [int(name.rpartition("-")[2]) for name in rows["client"].cast(pa.string()).to_pylist()]
        words = [word or "" for word in rows["error"].cast(pa.string()).to_pylist()]
        order = np.argsort(integers(rows["start_ns"]), kind="stable")
        return cls(
            np.array(number, np.int64)[order],
            integers(rows["start_ns"])[order],
            [words[index] for index in order],
        )

    def between(self, since_ns: int, until_ns: int, instance: int | None = None) -> int | None:
        """Return which end was the first in an interval, of one instance or of any; None: there was none."""
        chosen = (self.at_ns >= since_ns) & (self.at_ns <= until_ns)
        if instance is not None:
            chosen &= self.instance == instance
        rows = np.flatnonzero(chosen)
        return int(rows[0]) if rows.size else None
