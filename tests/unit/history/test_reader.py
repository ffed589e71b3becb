"""Files that are missing, damaged or foreign are refused by name, with a remedy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.history.compacting.compact import compact
from chaoskit.history.reading.reader import History, read_messages
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.tables import FAULTS, MESSAGES, OPERATIONS


@pytest.fixture
def written(run: Path) -> Path:
    """A run folder with a history of two partitions in one file."""
    with WalWriter(run / "wal", "p", 0) as log:
        for index in range(10):
            log.send(log.name("t"), index % 2, 0, index, index, index)
    compact(run)
    return run


def test_the_tables_have_the_fixed_schemas(written: Path) -> None:
    history = History.open(written)
    assert history.operations.schema.equals(OPERATIONS, check_metadata=True)
    assert history.messages("t", 0).schema.equals(MESSAGES)
    assert history.messages("no such", 0).schema.equals(MESSAGES)
    assert history.faults.schema.equals(FAULTS)
    assert history.faults.num_rows == 0


def test_a_descriptor_is_enough_to_read(written: Path) -> None:
    odd = History.open(written).partitions[1]
    assert read_messages(odd)["value"].to_pylist() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize("name", ["operations.parquet", "messages.parquet", "observations.parquet"])
def test_missing(written: Path, name: str) -> None:
    path = written / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(BadInput, match=rf"{name} is missing.*chaoskit check"):
        History.open(written)


@pytest.mark.parametrize("name", ["operations.parquet", "messages.parquet/part-00000.parquet"])
@pytest.mark.parametrize("damage", ["empty", "cut", "text"])
def test_damaged(written: Path, name: str, damage: str) -> None:
    path = written / name
    if damage == "text":
        path.write_bytes(b"x" * 100)
    else:
        os.truncate(path, 0 if damage == "empty" else path.stat().st_size // 2)
    with pytest.raises(BadInput, match=rf"{path.name}: cannot be read.*chaoskit check"):
        History.open(written)


def test_data_damaged_behind_a_good_footer(written: Path) -> None:
    history = History.open(written)
    path = written / "messages.parquet" / "part-00000.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"part-00000\.parquet: cannot be read"):
        history.messages("t", 0)


@pytest.mark.parametrize("name", ["operations.parquet", "messages.parquet/part-00000.parquet", "faults.parquet"])
def test_foreign(written: Path, name: str) -> None:
    pq.write_table(pa.table({"op": [1]}), written / name)
    with pytest.raises(BadInput, match="does not have the columns"):
        _ = History.open(written).faults


def test_a_folder_of_another_shape_is_refused(written: Path) -> None:
    path = written / "operations.parquet"
    pq.write_table(pq.read_table(path).cast(OPERATIONS).replace_schema_metadata(), path)

    with pytest.raises(BadInput, match=r"recorded by a pre-release version of chaoskit.*run the scenario again"):
        History.open(written)


def test_a_row_group_of_two_partitions(written: Path) -> None:
    history = History.open(written)
    mixed = pa.concat_tables([history.messages("t", 0), history.messages("t", 1)])
    pq.write_table(mixed, written / "messages.parquet" / "part-00000.parquet")
    with pytest.raises(BadInput, match="holds more than one partition"):
        History.open(written)


def test_a_partition_in_two_files(written: Path) -> None:
    folder = written / "messages.parquet"
    shutil.copy(folder / "part-00000.parquet", folder / "part-00001.parquet")
    with pytest.raises(BadInput, match="must be in one file"):
        History.open(written)


def rewritten(path: Path, order: list[int]) -> None:
    """Write a file's rows in another order, two to a row group."""
    table = pq.read_table(path, schema=pq.read_schema(path))
    pq.write_table(table.take(order), path, row_group_size=2)


def test_operations_that_are_not_in_order_are_sorted(written: Path) -> None:
    expected = History.open(written).operations

    rewritten(written / "operations.parquet", [3, 1, 2, 0, 9, 8, 7, 6, 5, 4])

    assert History.open(written).operations.to_pylist() == expected.to_pylist()


def test_messages_that_are_not_in_order_are_sorted_and_those_of_one_operation_keep_theirs(run: Path) -> None:
    with WalWriter(run / "wal", "c", 0) as log:
        topic = log.name("t")
        for index in range(3):
            log.send(topic, 0, 0, index, index, index)
    compact(run)
    path = run / "messages.parquet" / "part-00000.parquet"
    table = pq.read_table(path, schema=pq.read_schema(path))
    twice = table.take([0, 1, 1, 2]).set_column(5, table.schema.field("value"), [[10, 21, 20, 30]])
    pq.write_table(twice.take([3, 1, 0, 2]), path, row_group_size=1)

    history = History.open(run)

    assert history.messages("t", 0)["op"].to_pylist() == [0, 1, 1, 2]
    assert history.messages("t", 0)["value"].to_pylist() == [10, 21, 20, 30]
    assert history.messages("t", 0).schema.equals(MESSAGES)


def test_an_empty_row_group_belongs_to_no_partition(written: Path) -> None:
    path = written / "messages.parquet" / "part-00000.parquet"
    table = History.open(written).messages("t", 0)
    with pq.ParquetWriter(path, MESSAGES) as writer:
        writer.write_table(table.slice(0, 0))
        writer.write_table(table)

    assert [partition.messages.row_groups for partition in History.open(written).partitions if partition.messages] == [
        (1,)
    ]


@pytest.mark.parametrize("numbers", [[0, 1, 3], [1, 2, 3], [0, 1, 1]])
def test_operations_that_do_not_count_from_0_are_refused(written: Path, numbers: list[int]) -> None:
    path = written / "operations.parquet"
    table = pq.read_table(path, schema=pq.read_schema(path)).slice(0, 3)
    pq.write_table(table.set_column(0, table.schema.field("op"), [numbers]), path)

    with pytest.raises(BadInput, match="`op` must count from 0"):
        _ = History.open(written).operations
