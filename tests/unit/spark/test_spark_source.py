"""`spark.read.format("chaoskit")` gives the rows of all runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chaoskit.history.reading.reader import History
from chaoskit.judge.verdict.check import check_run


@pytest.fixture
def folders(make_run: Callable[..., Path]) -> list[Path]:
    """Two runs, one of them judged."""
    runs = [make_run("a", 0, faults=2), make_run("b", 1, partitions=2)]
    check_run(runs[0])
    return runs


def _read(spark: Any, folders: list[Path], table: str) -> Any:
    return spark.read.format("chaoskit").option("table", table).load(str(folders[0].parents[1]))


def test_all_rows_come_with_their_run(spark: Any, folders: list[Path]) -> None:
    for table in ("operations", "faults"):
        counted = {row["run"]: row["count"] for row in _read(spark, folders, table).groupBy("run").count().collect()}
        expected = {
            f"{folder.parent.name}/{folder.name}": pq.read_metadata(folder / f"{table}.parquet").num_rows
            for folder in folders
        }
        assert counted == {name: rows for name, rows in expected.items() if rows}


def test_messages_are_those_of_the_history(spark: Any, folders: list[Path]) -> None:
    history = History.open(folders[1])
    known = history.partitions[0]
    rows = _read(spark, folders, "messages").where(f"scenario = 'b' and partition = {known.partition}")

    read = rows.drop("run", "scenario").toArrow().sort_by([("op", "ascending"), ("value", "ascending")])

    expected = history.messages(known.topic, known.partition)
    expected = expected.sort_by([("op", "ascending"), ("value", "ascending")])
    assert read.num_rows == known.rows
    for name in expected.column_names:
        assert read[name].to_pylist() == expected[name].to_pylist()


def test_one_task_reads_one_partition(spark: Any, folders: list[Path]) -> None:
    assert _read(spark, folders, "messages").rdd.getNumPartitions() == sum(
        len(History.open(folder).partitions) for folder in folders
    )


def test_verdicts_are_of_judged_runs(spark: Any, folders: list[Path]) -> None:
    (row,) = _read(spark, folders, "verdicts").collect()

    assert (row["scenario"], row["verdict"]) == ("a", "valid")
    assert '"scenario": "a"' in row["json"]


@pytest.mark.parametrize(("table", "said"), [("message", 'did you mean "messages"?'), ("x", "Known: faults")])
def test_an_unknown_table_is_refused(table: str, said: str, spark: Any, folders: list[Path]) -> None:
    with pytest.raises(Exception, match="there is no table") as refused:
        _read(spark, folders, table).count()

    assert said in str(refused.value)
