"""When a message was on a recorded disk: only once all of its payload was, and stable only once its file has it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.recorded_disk import NEVER, Stored
from chaoskit.model import payload
from clusters.hosts.disk import finds
from clusters.hosts.disk.layout import BASE, END, LOG
from clusters.hosts.disk.oplog import Kind, OperationLog, opened
from clusters.hosts.disk.stored import stored

RUN = 9
SIZE = 100
BLOCK = 4096
DISK = 6 * BLOCK

Step = tuple[int, bytes] | Kind
"""A write, or a flush, a cut, or a destage of one write."""


def journal(kind: int) -> Step:
    """A block of ext4's journal, at the end of the disk."""
    return DISK - BLOCK, b"\xc0\x3b\x39\x98\0\0\0" + bytes([kind])


FLUSH, CUT = Kind.FLUSH, Kind.CUT
BEGIN, COMMIT = journal(1), journal(2)
SYNC: list[Step] = [BEGIN, FLUSH, COMMIT, FLUSH]
"""What ext4 does after the data of an fsync."""


def built(value: int, filler: bytes = b"f") -> bytes:
    return payload.build(RUN, value, 1, 2, filler * (SIZE - payload.SIZE_MIN))


def record(folder: Path, steps: Sequence[Step], **ended: object) -> list[int]:
    """Record steps; return the time of each."""
    (folder / BASE).write_bytes(bytes(DISK))
    log = OperationLog(folder / LOG)
    for step in steps:
        log.mark(step, int(step is Kind.DESTAGE)) if isinstance(step, Kind) else log.write(*step)
    end = {"at_ns": 2**61, "synced": True, "length": (folder / LOG).stat().st_size if steps else 0}
    (folder / END).write_text(json.dumps(end | ended))
    with opened(folder / LOG) as recording:
        return [operation.time_ns for operation in recording]


def times_of(recovered: Stored) -> dict[int, tuple[int, int]]:
    columns = recovered.values.tolist(), recovered.written_ns.tolist(), recovered.stable_ns.tolist()
    return {value: (written, stable) for value, written, stable in zip(*columns, strict=True)}


def test_it_is_stable_from_the_flush_after_the_commit_on(tmp_path: Path) -> None:
    both = built(1) + built(2)
    steps: list[Step] = [(BLOCK, both[:150]), *SYNC, (BLOCK, both), *SYNC, (0, built(3))]
    at = record(tmp_path, steps)

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[0], at[4]), 2: (at[5], at[9]), 3: (at[10], NEVER)}


@pytest.mark.parametrize("steps", [[FLUSH], [FLUSH, FLUSH], [BEGIN, FLUSH, COMMIT], [COMMIT, FLUSH]])
def test_before_the_journal_has_committed_it_no_file_need_have_it(tmp_path: Path, steps: list[Step]) -> None:
    at = record(tmp_path, [(BLOCK, built(1)), *steps])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[0], NEVER)}


def test_what_was_written_after_the_transaction_began_waits_for_the_next_one(tmp_path: Path) -> None:
    at = record(tmp_path, [BEGIN, (BLOCK, built(1)), FLUSH, COMMIT, FLUSH, *SYNC])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[1], at[8])}


def test_a_write_in_place_needs_no_commit(tmp_path: Path) -> None:
    """So a file is that was preallocated, and is synced with fdatasync."""
    at = record(tmp_path, [(BLOCK, bytes(BLOCK)), *SYNC, (BLOCK, built(1)), FLUSH])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[5], at[6])}


def test_a_write_in_place_is_not_stable_by_a_flush_of_the_journal(tmp_path: Path) -> None:
    at = record(tmp_path, [(BLOCK, bytes(BLOCK)), *SYNC, BEGIN, (BLOCK, built(1)), FLUSH, COMMIT, FLUSH])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[6], NEVER)}


def test_a_record_of_the_log_of_xfs_is_a_commit(tmp_path: Path) -> None:
    at = record(tmp_path, [(BLOCK, built(1)), FLUSH, (0, b"\xfe\xed\xba\xbe"), FLUSH])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[0], at[3])}


def test_a_payload_across_writes_in_any_order_is_found(tmp_path: Path) -> None:
    content = built(1)
    at = record(tmp_path, [(1060, content[60:]), *SYNC, (1000, content[:20]), (1020, content[20:60]), *SYNC])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[6], at[10])}


@pytest.mark.parametrize("length", [5, 30, 60])
@pytest.mark.parametrize("tail_first", [False, True])
def test_a_payload_that_goes_on_in_another_block_is_found(tmp_path: Path, tail_first: bool, length: int) -> None:
    """A file's next block need not be the disk's next one."""
    content = built(1)
    parts: list[Step] = [(BLOCK - length, content[:length]), (2 * BLOCK, bytes(BLOCK) + content[length:])]
    at = record(tmp_path, [*(parts[::-1] if tail_first else parts), *SYNC])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[2], at[5])}


@pytest.mark.parametrize(
    "later",
    [
        [(2 * BLOCK, b"g" + built(1)[61:])],
        [(2 * BLOCK, built(1)[61:])],
        [FLUSH, (2 * BLOCK, built(1)[60:])],
        [(3 * BLOCK - 60, built(2)[:60]), (3 * BLOCK, built(2)[60:])],
    ],
    ids=["another tail", "a shorter tail", "after a flush", "the tail of another payload"],
)
def test_parts_that_may_not_belong_together_are_no_payload(tmp_path: Path, later: list[Step]) -> None:
    record(tmp_path, [(BLOCK - 60, built(1)[:60]), *later, *SYNC])

    assert 1 not in times_of(stored(tmp_path, RUN, SIZE))


def test_one_tail_completes_one_payload(tmp_path: Path) -> None:
    heads: list[Step] = [(place * BLOCK - 60, built(value)[:60]) for value, place in ((1, 1), (2, 2))]
    record(tmp_path, [*heads, (4 * BLOCK, built(1)[60:]), *SYNC])

    assert len(times_of(stored(tmp_path, RUN, SIZE))) == 1


def test_a_cut_takes_back_what_was_not_flushed(tmp_path: Path) -> None:
    content = built(1)
    record(tmp_path, [(1050, content[50:]), CUT, (1000, content[:50]), FLUSH])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {}


def test_what_a_cut_took_back_was_never_written(tmp_path: Path) -> None:
    at = record(tmp_path, [(1000, built(1)), CUT, FLUSH, (1000, built(2)), *SYNC, CUT])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (NEVER, NEVER), 2: (at[3], at[7])}


def test_what_was_written_again_after_a_cut_counts_from_then_on(tmp_path: Path) -> None:
    at = record(tmp_path, [(1000, built(1)), CUT, FLUSH, (1000, built(1)), *SYNC])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[3], at[7])}


def test_what_the_disk_destaged_stays_there_at_a_cut(tmp_path: Path) -> None:
    content = built(1)
    steps: list[Step] = [(1050, content[50:]), Kind.DESTAGE, (5000, b"x"), CUT, (1000, content[:50]), *SYNC]
    at = record(tmp_path, steps)

    assert times_of(stored(tmp_path, RUN, SIZE)) == {1: (at[4], at[8])}


def test_what_was_overwritten_before_the_flush_is_not_stable(tmp_path: Path) -> None:
    record(tmp_path, [(1000, built(1) + built(2)), (1000, bytes(SIZE)), *SYNC])

    recovered = stored(tmp_path, RUN, SIZE)

    assert list(times_of(recovered)) == [2]
    assert recovered.overwritten == 1


def test_what_is_overwritten_later_is_counted(tmp_path: Path) -> None:
    record(tmp_path, [(1000, built(1) + built(2)), *SYNC, (1000, built(1) + built(3))])

    recovered = stored(tmp_path, RUN, SIZE)

    assert list(times_of(recovered)) == [1, 2, 3]
    assert recovered.overwritten == 1


@pytest.mark.parametrize("content", [built(1)[:-1] + b"?", payload.build(RUN + 1, 1, 1, 2, b"f" * 60), b"CHK1" * 40])
def test_what_is_no_whole_payload_of_the_run_is_not_found(tmp_path: Path, content: bytes) -> None:
    record(tmp_path, [(1000, content), *SYNC])

    assert times_of(stored(tmp_path, RUN, SIZE)) == {}


@pytest.mark.parametrize("lacking", [1, 40])
def test_a_recording_that_is_torn_or_too_short_is_told(tmp_path: Path, lacking: int) -> None:
    record(tmp_path, [(1000, built(1)), FLUSH, (2000, bytes(8))])
    length = (tmp_path / LOG).stat().st_size
    with (tmp_path / LOG).open("rb+") as file:
        file.truncate(length - lacking)

    recovered = stored(tmp_path, RUN, SIZE)

    assert recovered.torn
    assert len(recovered.values) == 1


def test_what_was_half_recorded_after_the_end_makes_nothing_torn(tmp_path: Path) -> None:
    record(tmp_path, [(1000, built(1)), FLUSH], synced=False, syncs_ns=[5])
    with (tmp_path / LOG).open("ab") as file:
        file.write(b"ckop")

    recovered = stored(tmp_path, RUN, SIZE)

    assert (recovered.torn, recovered.synced, recovered.ended_ns, list(recovered.syncs_ns)) == (
        False,
        False,
        2**61,
        [5],
    )


def test_without_its_end_a_recording_is_refused(tmp_path: Path) -> None:
    record(tmp_path, [])
    (tmp_path / END).unlink()

    with pytest.raises(BadInput, match=f"{END} is missing: an older chaoskit"):
        stored(tmp_path, RUN, SIZE)


def test_a_damaged_recording_is_refused(tmp_path: Path) -> None:
    record(tmp_path, [(DISK, bytes(8))])

    with pytest.raises(BadInput, match=LOG):
        stored(tmp_path, RUN, SIZE)


def test_a_disk_is_not_rebuilt_where_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, [(1000, built(1))])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("", (), {"free": 10}))

    with pytest.raises(BadInput, match="set TMPDIR"):
        stored(tmp_path, RUN, SIZE)


CONTENT = b"".join(map(built, range(6)))
writes = st.tuples(st.integers(0, 40), st.integers(0, 300), st.integers(1, 300)).map(
    lambda drawn: (50 * drawn[0] + 64, CONTENT[drawn[1] : drawn[1] + drawn[2]])
)


@given(steps=st.lists(st.one_of(writes, st.sampled_from([FLUSH, CUT, BEGIN, COMMIT])), max_size=25))
def test_what_is_stable_is_what_the_disk_has_at_its_flushes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    """Against a search of the whole disk after each step: what is stable was there at its flush, and was written when
    it is said to have been."""
    folder = tmp_path_factory.mktemp("stored")
    at = record(folder, steps)
    now, medium = bytearray(DISK), bytearray(DISK)
    seen: dict[int, set[int]] = {}
    flushed: dict[int, set[int]] = {}
    for step, at_ns in zip(steps, at, strict=True):
        if step is FLUSH:
            medium[:] = now
        elif step is CUT:
            now[:] = medium
        else:
            offset, content = step
            now[offset : offset + len(content)] = content
        for places, disk in ((seen, now), (flushed, medium)):
            places[at_ns] = {value for value in range(6) if built(value) in disk}

    for value, (written_ns, stable_ns) in times_of(stored(folder, RUN, SIZE)).items():
        assert written_ns == NEVER or value in seen[written_ns]
        assert stable_ns == NEVER or value in flushed[stable_ns]
        assert written_ns <= stable_ns


def test_what_is_noted_is_settled_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finds, "_BATCH", 2)
    at = record(tmp_path, [step for value in range(9) for step in ((1000, built(value % 3)), *SYNC)])

    recovered = stored(tmp_path, RUN, SIZE)

    assert recovered.values.tolist() == [0, 1, 2]
    assert np.array_equal(recovered.written_ns, at[:15:5])
    assert np.array_equal(recovered.stable_ns, at[4:15:5])
