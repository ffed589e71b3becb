"""What is written is what the history says, column by column."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.origin import read_origin
from chaoskit.history.format.record import HEADER_BYTES, RECORD_BYTES
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.wal import NO_TIME, WalWriter
from chaoskit.model.audit import Bounds, Drained
from chaoskit.model.message import NO_POSITION
from chaoskit.model.outcome import FAIL, INFO, OK
from chaoskit.model.tables import OPERATIONS


def test_every_column_comes_back(run: Path) -> None:
    origin = read_origin(run / "wal")
    with WalWriter(run / "wal", "producer-0", 3) as log:
        topic, key = log.name("t"), log.name("k")
        acked = log.send(topic, 1, key, 7, origin + 10, origin + 12)
        log.send(topic, 1, 0, 8, origin + 20, origin + 30)
        failed = log.send(topic, 1, 0, 9, origin + 21, origin + 31)
        log.complete(acked, origin + 40, OK, position=5)
        log.complete(failed, origin + 41, FAIL, log.name("too large"), position=6)
    with WalWriter(run / "wal", "consumer-0", 4) as log:
        topic = log.name("t")
        poll = log.invoke(log.name("poll"), origin + 15)
        log.received(poll, topic, 1, log.name("k"), 7, 5, origin + 10, origin + 12, origin + 60, 0, 2)
        log.received(poll, topic, 1, 0, 99, NO_POSITION, NO_TIME, NO_TIME, origin + 61, 1)
        log.complete(poll, origin + 62, INFO)
    compact(run)
    history = History.open(run)
    assert history.operations.to_pylist() == [
        _operation(0, 3, "producer-0", "send", 12, 40, "ok"),
        _operation(1, 4, "consumer-0", "poll", 15, 62, "info"),
        _operation(2, 3, "producer-0", "send", 30, None, "info"),
        _operation(3, 3, "producer-0", "send", 31, 41, "fail", "too large"),
    ]
    assert [tuple(row.values()) for row in history.messages("t", 1).to_pylist()] == [
        (0, "sent", "t", 1, "k", 7, 5, 10, 12, None, None, "ok"),
        (1, "received", "t", 1, "k", 7, 5, 10, 12, 60, 2, "ok"),
        (1, "received", "t", 1, None, 99, None, None, None, 61, None, "corrupt"),
        (2, "sent", "t", 1, None, 8, None, 20, 30, None, None, "ok"),
        (3, "sent", "t", 1, None, 9, None, 21, 31, None, None, "ok"),
    ]


def _operation(*values: object) -> dict[str, object]:
    columns = [name for name in OPERATIONS.names if name != "txn"]
    return {**dict.fromkeys(OPERATIONS.names), **dict(zip(columns, values, strict=False))}


def test_the_last_audit_of_a_partition_counts(run: Path) -> None:
    with WalWriter(run / "wal", "auditor", 0) as log:
        topic = log.name("t")
        log.audit(topic, 0, Bounds(2, 10, complete=False))
        log.audit(topic, 1, Bounds(0, 10, complete=False))
        log.audit(topic, 0, Bounds(3, 10, complete=True))
        log.audit(topic, 3, Drained(complete=True))
        log.audit(topic, 4, Bounds(0, 10, complete=True, reached=10, local=7))
        log.audit(topic, 5, Bounds(0, 10, complete=True, reached=10, local=0))
    compact(run)
    history = History.open(run)
    assert history.audit("t", 0) == Bounds(low=3, end=10, complete=True)
    assert history.audit("t", 1) == Bounds(low=0, end=10, complete=False)
    assert history.audit("t", 2) is None
    assert history.audit("t", 3) == Drained(complete=True)
    assert history.audit("t", 4) == Bounds(low=0, end=10, complete=True, reached=10, local=7)
    assert history.audit("t", 5) == Bounds(low=0, end=10, complete=True, reached=10, local=0)


def test_negative_partitions_stay_apart(run: Path) -> None:
    with WalWriter(run / "wal", "p", 0) as log:
        for partition in (-1, 0, -1):
            log.send(log.name("t"), partition, 0, 1, 1, 1)
    compact(run)
    assert [(p.partition, p.rows) for p in History.open(run).partitions] == [(-1, 2), (0, 1)]


def test_closing_leaves_only_what_was_used(run: Path) -> None:
    log = WalWriter(run / "wal", "p", 0)
    log.send(log.name("t"), 0, 0, 1, 1, 1)
    log.close()
    log.close()
    sizes = {path.name: path.stat().st_size for path in (run / "wal").iterdir()}
    del sizes["origin.json"], sizes["topics.json"]
    assert sizes == {"p-0.wal": HEADER_BYTES + RECORD_BYTES, "p.names": len('"t"\n')}


def test_a_client_has_one_log(run: Path) -> None:
    with WalWriter(run / "wal", "p", 0), pytest.raises(FileExistsError):
        WalWriter(run / "wal", "p", 1)


def test_names_of_any_text(run: Path) -> None:
    texts = ["", "a\nb", "\0", "späť", "raw \udc80 byte", '"']
    with WalWriter(run / "wal", "p", 0) as log:
        operations = [log.invoke(log.name("f"), 1) for _ in texts]
        for op, text in zip(operations, texts, strict=True):
            log.complete(op, 2, FAIL, log.name(text))
        assert log.name("a\nb") == log.name("a\nb")
    compact(run)
    errors = History.open(run).operations["error"].to_pylist()
    assert errors == [*texts[:4], "raw \\udc80 byte", '"']


def test_more_names_than_one_step_of_room(run: Path) -> None:
    keys = [f"{index:0100}" for index in range(3000)]
    with WalWriter(run / "wal", "p", 0) as log:
        for key in keys:
            log.send(log.name("t"), 0, log.name(key), 1, 1, 1)
    compact(run)
    assert History.open(run).messages("t", 0)["key"].to_pylist() == keys
