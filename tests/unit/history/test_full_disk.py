"""A full disk refuses new operations, and keeps room for the completions of those under way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.compact import compact
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.names import read_names
from chaoskit.history.recording.wal import HistoryFull, WalWriter
from chaoskit.model.outcome import INFO, OK

SEGMENT_BYTES = 64 << 10


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A run folder on a disk of 1 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(tmp_path)], check=True)
    try:
        (tmp_path / "wal").mkdir()
        write_origin(tmp_path / "wal")
        write_topics(tmp_path / "wal", {"t": LOG.name})
        yield tmp_path
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def _fill(log: WalWriter) -> int:
    """Send until refused; return how many sends were recorded."""
    topic = log.name("t")
    for count in range(1_000_000):
        try:
            log.send(topic, 0, 0, count, 1, 1)
        except HistoryFull as error:
            assert "--store" in str(error)  # noqa: PT017 - the loop needs the count as well
            return count
    raise AssertionError("the disk never filled")


def _repeat(event: Callable[[int], object]) -> None:
    """Do it far more often than a small disk allows."""
    for index in range(100_000):
        event(index)


def test_completions_have_room_after_the_disk_is_full(small_disk: Path) -> None:
    log = WalWriter(small_disk / "wal", "p", 0, SEGMENT_BYTES)
    sent = _fill(log)
    assert sent > 1000
    with pytest.raises(HistoryFull):
        log.invoke(log.name("poll"), 1)
    for op in range(500):
        log.complete(op, 2, OK, position=op)
    log.complete(500, 2, INFO, log.name("an error never seen before"))
    log.close()
    # Compaction needs room of its own; the log is small enough to be read from elsewhere.
    elsewhere = small_disk.parent / "elsewhere"
    subprocess.run(["cp", "-r", str(small_disk), str(elsewhere)], check=True)
    assert compact(elsewhere).messages == sent
    operations = History.open(elsewhere).operations
    assert len(operations["end_ns"].drop_null()) == 501
    assert operations["error"][500].as_py() == "an error never seen before"


def test_errors_can_be_named_after_the_disk_is_full(small_disk: Path) -> None:
    log = WalWriter(small_disk / "wal", "p", 0, SEGMENT_BYTES)
    _fill(log)
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(1 << 20))
    ids = [log.name(f"error {index:0100}") for index in range(1000)]
    log.close()
    assert ids == list(range(2, 1002))
    assert len(read_names(small_disk / "wal" / "p.names")) == 1001


def test_it_goes_on_once_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300 << 10))
    log = WalWriter(small_disk / "wal", "p", 0, SEGMENT_BYTES)
    sent = _fill(log)
    ballast.unlink()
    assert log.send(log.name("t"), 0, 0, sent, 1, 1) == sent
    log.close()


def test_the_reserve_ends_too(small_disk: Path) -> None:
    log = WalWriter(small_disk / "wal", "p", 0, SEGMENT_BYTES)
    _fill(log)
    with pytest.raises(HistoryFull):
        _repeat(lambda _: log.complete(0, 1, OK))
    log.close()


def test_no_room_to_begin(small_disk: Path) -> None:
    with pytest.raises(HistoryFull, match="no space for more history"):
        WalWriter(small_disk / "wal", "p", 0, segment_bytes=2 << 20)
    assert not list((small_disk / "wal").glob("*.new"))


def test_names_end(small_disk: Path) -> None:
    log = WalWriter(small_disk / "wal", "p", 0, SEGMENT_BYTES)
    with pytest.raises(HistoryFull):
        _repeat(lambda index: log.name(f"{index:0100}"))
    log.close()


def test_compaction_without_room_keeps_the_logs(small_disk: Path) -> None:
    log = WalWriter(small_disk / "wal", "p", 0, SEGMENT_BYTES)
    sent = _fill(log)
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(1 << 20))
    with pytest.raises(HistoryFull):
        compact(small_disk)
    log.close()
    elsewhere = small_disk.parent / "elsewhere"
    subprocess.run(["cp", "-r", str(small_disk), str(elsewhere)], check=True)
    assert compact(elsewhere).messages == sent


def test_faults_without_room(small_disk: Path) -> None:
    fault = {"fault": 0, "kind": "kill", "targets": ["n1"], "parameters": "{}", "start_ns": 1, "evidence": ""}
    with FaultLog(small_disk / "wal") as faults, pytest.raises(HistoryFull):
        _repeat(lambda _: faults.record({**fault, "evidence": "x" * 60_000}))
