"""A run in which consumers were to go back, and did not, proves nothing about that."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Replays
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.replays import not_replayed
from chaoskit.model.tables import OPERATIONS

DOUBT = ("no consumer went back, as workload.replay requires",)


def _history(folder: Path, *outcomes: str) -> History:
    common = {"process": 0, "client": "consumer-0", "start_ns": 0, "end_ns": 1}
    rows = [{**common, "op": op, "f": "replay", "outcome": outcome} for op, outcome in enumerate(outcomes)]
    pq.write_table(pa.Table.from_pylist(rows, OPERATIONS), folder / "operations.parquet", row_group_size=1)
    return History(folder, [], {})


@pytest.mark.parametrize(
    ("outcomes", "doubts"), [(["ok"], ()), (["info", "ok"], ()), (["info", "info"], DOUBT), ([], DOUBT)]
)
def test_one_consumer_at_least_must_have_gone_back(
    tmp_path: Path, outcomes: list[str], doubts: tuple[str, ...]
) -> None:
    declared = Declared(None, 3, 3, (), {}, {}, (Replays(1, by_time=True),))

    assert not_replayed(_history(tmp_path, *outcomes), declared) == doubts


def test_nobody_need_go_back_who_was_not_asked_to(tmp_path: Path) -> None:
    history = _history(tmp_path)

    assert not_replayed(history, Declared(None, 3, 3, (), {}, {})) == ()
    assert not_replayed(history, None) == ()
