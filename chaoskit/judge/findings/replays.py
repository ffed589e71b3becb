"""Whether consumers went back, where a workload has them read again: otherwise a run proves nothing about that."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Replays
from chaoskit.history.reading.reader import History, group_sizes, read_operations


def not_replayed(history: History, declared: Declared | None) -> tuple[str, ...]:
    """Return what is in doubt if no consumer went back. Reads operations group by group."""
    if declared is None or declared.get(Replays) is None:
        return ()
    path = history.folder / "operations.parquet"
    for group in range(len(group_sizes(path))):
        if _went_back(read_operations(path, [group], ["f", "outcome"])):
            return ()
    return ("no consumer went back, as workload.replay requires",)


def _went_back(operations: pa.Table) -> bool:
    replays, confirmed = (
        pc.equal(operations[column].cast(pa.string()), word) for column, word in (("f", "replay"), ("outcome", "ok"))
    )
    return bool(pc.any(pc.and_(replays, confirmed)).as_py())
