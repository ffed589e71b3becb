"""The layout of the files, and compaction as a step that can fail and be repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chaoskit.base import durable
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.history.compacting import compact as compaction
from chaoskit.history.compacting import dataset, gather
from chaoskit.history.compacting.compact import Compacted, compact, drop_wal
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.message import NO_POSITION
from chaoskit.model.observations.row import KINDS
from chaoskit.model.operation import SENDING


def _write(run: Path, client: str, process: int, rows: dict[int, int]) -> None:
    """Send `rows[partition]` messages to each partition in turn."""
    with WalWriter(run / "wal", client, process) as log:
        topic = log.name("t")
        for index in range(max(rows.values(), default=0)):
            for partition, count in rows.items():
                if index < count:
                    log.send(topic, partition, 0, index, index, index)


def test_large_partitions_have_their_own_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dataset, gather, compaction):
        monkeypatch.setattr(module, "ROW_GROUP_ROWS", 100)
    _write(run, "p", 0, {0: 30, 1: 250, 2: 60, 3: 30, 4: 100})
    _write(run, "q", 1, {1: 70})
    compact(run)
    history = History.open(run)
    layout = {
        p.partition: (p.messages.file.name, p.messages.row_groups, p.rows) for p in history.partitions if p.messages
    }
    assert layout == {
        0: ("part-00000.parquet", (0,), 30),
        1: ("part-00001.parquet", (0, 1, 2, 3), 320),
        2: ("part-00000.parquet", (1,), 60),
        3: ("part-00002.parquet", (0,), 30),
        4: ("part-00003.parquet", (0,), 100),
    }
    for partition in history.partitions:
        ops = history.messages("t", partition.partition)["op"].to_pylist()
        assert ops == sorted(set(ops))
        assert len(ops) == partition.rows
    operations = history.operations
    assert operations["op"].to_pylist() == list(range(540))
    assert operations["start_ns"].to_pylist() == sorted(operations["start_ns"].to_pylist())
    groups = pq.read_metadata(run / "operations.parquet")
    assert max(groups.row_group(index).num_rows for index in range(groups.num_row_groups)) == 100


def test_a_run_that_recorded_nothing(run: Path) -> None:
    assert compact(run) == Compacted(operations=0, messages=0, observations=0, torn=0, orphans=0)
    history = History.open(run)
    assert (history.operations.num_rows, history.partitions) == (0, [])
    assert history.messages("t", 0).num_rows == 0


def test_compaction_can_be_repeated(run: Path) -> None:
    _write(run, "p", 0, {0: 10})
    first = compact(run)
    _write(run, "q", 1, {1: 5})
    assert compact(run).messages == first.messages + 5
    assert {path.name for path in run.iterdir()} == {
        "wal",
        "operations.parquet",
        "messages.parquet",
        "observations.parquet",
    }


@pytest.mark.parametrize("failing", range(16))
def test_a_crash_during_compaction(run: Path, failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(run, "p", 0, {0: 10, 1: 3})
    compact(run)
    _write(run, "q", 1, {0: 2})
    calls = 0
    sync = durable.sync

    def crash(path: Path) -> None:
        nonlocal calls
        if calls == failing:
            raise KeyboardInterrupt
        calls += 1
        sync(path)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "sync", crash)
        try:
            compact(run)
        except KeyboardInterrupt:
            pass
        else:
            assert calls <= failing
    try:
        left = History.open(run)
    except BadInput:
        pass
    else:
        messages = sum(partition.rows for partition in left.partitions)
        assert left.operations.num_rows == messages
    assert compact(run).messages == 15
    assert sum(partition.rows for partition in History.open(run).partitions) == 15


def test_rows_that_go_missing_are_noticed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(run, "p", 0, {0: 10})
    groups = gather.GatheredMessages.groups
    monkeypatch.setattr(
        gather.GatheredMessages, "groups", lambda self, *place: (table[1:] for table in groups(self, *place))
    )
    with pytest.raises(RunFailed, match="9 messages"):
        compact(run)
    assert not (run / "operations.parquet").exists()


def test_dropping_the_logs(run: Path) -> None:
    _write(run, "p", 0, {0: 10})
    with pytest.raises(BadInput, match="compact it before"):
        drop_wal(run)
    compact(run)
    drop_wal(run)
    assert {path.name for path in (run / "wal").iterdir()} == {"origin.json", "topics.json", "dropped"}
    with pytest.raises(BadInput, match="is already compacted"):
        compact(run)
    assert History.open(run).operations.num_rows == 10


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"origin\.json is missing"):
        compact(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"monotonic_ns": null}'])
def test_a_damaged_origin(run: Path, content: str) -> None:
    (run / "wal" / "origin.json").write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=r"origin\.json: cannot be read"):
        compact(run)


def test_a_foreign_file_among_the_segments(run: Path) -> None:
    (run / "wal" / "notes.wal").write_bytes(b"")
    with pytest.raises(BadInput, match=r"notes\.wal is not a segment"):
        compact(run)


def test_an_operation_names_the_transaction_of_its_client(run: Path) -> None:
    def write(client: str, process: int, operations: list[str]) -> None:
        with WalWriter(run / "wal", client, process) as log:
            for index, f in enumerate(operations):
                if f == "send":
                    log.send(log.name("t"), 0, 0, index, index, index)
                else:
                    log.invoke(log.name(f), index)

    write("p", 0, ["init", "begin", "send", "end", "send", "begin", "send"])
    write("q", 1, ["send", "end", "poll"])
    write("r", 2, ["begin", "poll", "send", "end", "end"])
    compact(run)

    rows = History.open(run).operations.to_pylist()
    begins = {row["op"]: row["client"] for row in rows if row["f"] == "begin"}
    transactions: dict[str, list[Any]] = {}
    for row in rows:
        assert row["txn"] is None or begins[row["txn"]] == row["client"]
        transactions.setdefault(row["client"], []).append(row["txn"])
    first, second = sorted(op for op, client in begins.items() if client == "p")
    assert transactions["p"] == [None, first, first, first, None, second, second]
    assert transactions["q"] == [None] * 3
    only = next(op for op, client in begins.items() if client == "r")
    assert transactions["r"] == [only, None, only, only, None]


def test_an_add_is_a_send_of_its_own_name_and_positions_are_told_beside_it(run: Path) -> None:
    with WalWriter(run / "wal", "p", 0) as log:
        ledger = log.name("ledger")
        op = log.send(ledger, 7, 0, 5, 1, 2, SENDING.index("add"))
        log.complete(op, 3, 0, 0, 0)
        closing = log.invoke(log.name("close"), 4)
        log.observed(closing, KINDS.index("ended"), ledger, 7, 0, NO_POSITION, 1)
        log.complete(closing, 5, 0)
    compact(run)
    history = History.open(run)

    assert history.operations["f"].to_pylist() == ["add", "close"]
    names = ("direction", "value", "position", "key", "payload")
    rows = [tuple(row[name] for name in names) for row in history.messages("ledger", 7).to_pylist()]
    assert rows == [("sent", 5, 0, None, "ok")]
    (partition,) = history.partitions
    assert partition.rows == 2
    assert read_observations(partition).to_pylist() == [
        {"op": 1, "kind": "ended", "topic": "ledger", "partition": 7, "name": None, "value": None, "position": 1}
    ]
