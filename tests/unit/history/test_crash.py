"""What a crash leaves is read up to the last whole record, and nothing else is read as data."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.record import HEADER_BYTES, RECORD, RECORD_BYTES
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.recover import recover
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.message import NO_POSITION
from chaoskit.model.observations.row import KINDS

ROOT = Path(__file__).parents[3]

CHILD = """
import mmap, struct, sys
from pathlib import Path
from chaoskit.history.recording.wal import WalWriter
wal = Path(sys.argv[1])
with open(sys.argv[2], "r+b") as file:
    counter = mmap.mmap(file.fileno(), 8)
log = WalWriter(wal, "p", 0, segment_bytes=1 << 20)
topic = log.name("t")
count = 0
while True:
    op = log.send(topic, count % 3, log.name(f"key {count % 1000}"), count, count, count + 1)
    log.complete(op, count + 2, 0, 0, op)
    count += 1
    struct.pack_into("q", counter, 0, count)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_kill_9_at_full_speed_loses_nothing(run: Path, attempt: int) -> None:
    counter = run / "counter"
    counter.write_bytes(bytes(8))
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(run / "wal"), str(counter)], cwd=ROOT)
    with counter.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
        deadline = time.monotonic() + 60
        # At least two segments full, and a different moment each time.
        while struct.unpack("q", shared)[0] < 20_000 + attempt * 7_777:
            assert child.poll() is None
            assert time.monotonic() < deadline, f"{struct.unpack('q', shared)[0]} events in 60 s"
            time.sleep(0.001)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    (recorded,) = struct.unpack("q", counter.read_bytes())
    compacted = compact(run)
    assert recorded <= compacted.messages <= recorded + 1
    assert compacted.torn <= 1
    history = History.open(run)
    completed = history.operations["end_ns"].drop_null()
    assert recorded <= len(completed) <= recorded + 1
    values = [value for partition in range(3) for value in history.messages("t", partition)["value"].to_pylist()]
    assert sorted(values) == list(range(compacted.messages))
    assert history.messages("t", 2)["key"][1].as_py() == "key 5"


def test_a_living_client_can_be_read(run: Path) -> None:
    with WalWriter(run / "wal", "p", 0, segment_bytes=HEADER_BYTES + 5 * RECORD_BYTES) as log:
        for index in range(12):
            log.send(log.name("t"), 0, 0, index, 1, 1)
        assert compact(run).messages == 12
        log.send(log.name("t"), 0, 0, 12, 1, 1)
        assert compact(run).messages == 13


def _write(run: Path, events: int) -> Path:
    with WalWriter(run / "wal", "p", 0) as log:
        for index in range(events):
            log.send(log.name("t"), 0, log.name(f"k{index}"), index, index + 1, index + 1)
    return run / "wal" / "p-0.wal"


def _overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.mark.parametrize("stored", range(1, RECORD_BYTES))
def test_a_torn_last_record_is_dropped(run: Path, stored: int) -> None:
    path = _write(run, 5)
    last = HEADER_BYTES + 4 * RECORD_BYTES
    _overwrite(path, last + stored, bytes(RECORD_BYTES - stored))
    (log,) = recover(run / "wal")
    # The highest byte of the mark is zero anyway: all but one or two bytes is the whole record.
    whole = stored >= RECORD_BYTES - 2
    assert [len(records) for records in log.segments] == [5 if whole else 4]
    assert log.torn == (0 if whole else 1)


def test_a_file_cut_within_a_record(run: Path) -> None:
    path = _write(run, 5)
    os.truncate(path, path.stat().st_size - 10)
    compacted = compact(run)
    assert (compacted.messages, compacted.torn) == (4, 1)


def test_a_hole_before_whole_records(run: Path) -> None:
    path = _write(run, 5)
    _overwrite(path, HEADER_BYTES + RECORD_BYTES, bytes(2 * RECORD_BYTES))
    compacted = compact(run)
    assert (compacted.messages, compacted.torn) == (3, 2)
    assert History.open(run).messages("t", 0)["value"].to_pylist() == [0, 3, 4]


def test_messages_of_a_torn_operation_are_counted_as_orphans(run: Path) -> None:
    with WalWriter(run / "wal", "c", 0) as log:
        poll = log.invoke(log.name("poll"), 1)
        log.received(poll, log.name("t"), 0, 0, 1, 1, 1, 1, 1, 0)
        kept = log.invoke(log.name("poll"), 2)
        log.received(kept, log.name("t"), 0, 0, 2, 2, 2, 2, 2, 0)
    _overwrite(run / "wal" / "c-0.wal", HEADER_BYTES, bytes(RECORD_BYTES))
    compacted = compact(run)
    assert (compacted.operations, compacted.messages, compacted.torn, compacted.orphans) == (1, 1, 1, 1)
    assert History.open(run).messages("t", 0)["op"].to_pylist() == [0]


@pytest.mark.parametrize("length", [0, 2, 5])
def test_lost_names_stay_apart(run: Path, length: int) -> None:
    _write(run, 3)
    write_topics(run / "wal", {"t": QUEUE.name})
    os.truncate(run / "wal" / "p.names", length)
    compact(run)
    (partition,) = History.open(run).partitions
    assert partition.topic == ("t" if length > len('"t"') else "?p:1")
    keys = History.open(run).messages(partition.topic, 0)["key"].to_pylist()
    assert keys == ["?p:2", "?p:3", "?p:4"]
    assert History.open(run).models[partition.topic] == QUEUE.name


def test_a_topic_whose_name_is_lost_among_topics_of_several_kinds_is_refused(run: Path) -> None:
    _write(run, 3)
    os.truncate(run / "wal" / "p.names", 0)
    compact(run)
    with pytest.raises(BadInput, match=r"does not declare the model of topic \?p:1"):
        History.open(run)


def test_a_missing_names_file_is_told(run: Path) -> None:
    _write(run, 3)
    (run / "wal" / "p.names").unlink()
    with pytest.raises(BadInput, match=r"p\.names is missing: the topics in its logs are unknown"):
        compact(run)


def test_a_missing_segment_is_told(run: Path) -> None:
    with WalWriter(run / "wal", "p", 0, segment_bytes=HEADER_BYTES + RECORD_BYTES) as log:
        for index in range(3):
            log.send(log.name("t"), 0, 0, index, 1, 1)
    (run / "wal" / "p-1.wal").unlink()
    with pytest.raises(BadInput, match=r"p-1\.wal is missing"):
        compact(run)


@pytest.mark.parametrize("header", [b"", b"other", b"CHAOSWAL\x09"])
def test_a_foreign_segment_is_told(run: Path, header: bytes) -> None:
    path = _write(run, 1)
    if header:
        _overwrite(path, 0, header)
    else:
        os.truncate(path, 0)
    with pytest.raises(BadInput, match=r"p-0\.wal is not a version \d+ log segment"):
        compact(run)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("kind", 9, "a record of kind 9"),
        ("op", 10**12, "to 1000000000000"),
        ("op", -1, "numbered from -1"),
        ("name", 2**31, "a name that never was"),
        ("code", 7, "an unknown code"),
        ("start_ns", 2**62, "start_ns of a record is"),
    ],
)
@pytest.mark.parametrize("record", [0, 1])
def test_a_record_that_no_client_can_have_written(
    run: Path, record: int, field: str, value: int, complaint: str
) -> None:
    with WalWriter(run / "wal", "p", 0) as log:
        log.send(log.name("t"), 0, 0, 1, 1, 1)
        log.invoke(log.name("poll"), 1)
    path = run / "wal" / "p-0.wal"
    content = bytearray(path.read_bytes())
    assert RECORD.fields is not None
    at = HEADER_BYTES + record * RECORD_BYTES + RECORD.fields[field][1]
    size = RECORD[field].itemsize
    content[at : at + size] = value.to_bytes(size, "little", signed=value < 0)
    path.write_bytes(content)

    with pytest.raises(BadInput, match=rf"p-0\.wal is damaged: .*{complaint}.*Restore it from a copy"):
        recover(run / "wal")


@pytest.mark.parametrize("kind_id", [0, -1, 2**31 - 1])
def test_an_observation_of_a_kind_that_no_client_can_have_named(run: Path, kind_id: int) -> None:
    with WalWriter(run / "wal", "p", 0) as log:
        look = log.invoke(log.name("look"), 1)
        log.observed(look, len(KINDS), log.name("t"), 0, 0, NO_POSITION, NO_POSITION, kind_id)

    with pytest.raises(BadInput, match=r"p-0\.wal is damaged: it refers to a name that never was"):
        recover(run / "wal")
