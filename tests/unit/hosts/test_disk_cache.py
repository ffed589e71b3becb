"""The volatile cache of a disk, what survives a power cut of it, and crash images: against slow references."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.disk import SECTOR, CutMode, DiskSettings, OnCut
from clusters.hosts.disk.cache import WriteCache
from clusters.hosts.disk.crash import count_operations, crash_state, make_crash_image, operation_at, read_operations
from clusters.hosts.disk.device import Device
from clusters.hosts.disk.oplog import Kind, OperationLog, opened
from clusters.hosts.disk.survivors import cut_random, draw_survivors, summarise

SIZE = 64 * 1024

runs = st.tuples(st.integers(0, SIZE // SECTOR - 1), st.integers(1, 40), st.integers(0, 255))
steps = st.lists(st.one_of(runs, st.just("flush"), st.just("destage")), max_size=30)


def content_of(run: tuple[int, int, int]) -> tuple[int, bytes]:
    sector, count, value = run
    offset = sector * SECTOR
    return offset, bytes([value]) * min(count * SECTOR, SIZE - offset)


def image_in(folder: Path) -> Path:
    path = folder / "image"
    path.write_bytes(bytes(SIZE))
    return path


@given(steps, st.integers(0, SIZE - 1), st.integers(1, SIZE))
def test_reads_see_the_newest_data_and_the_image_only_what_was_flushed(
    tmp_path_factory: Any, steps: list[Any], offset: int, length: int
) -> None:
    path = image_in(tmp_path_factory.mktemp("cache"))
    descriptor = os.open(path, os.O_RDWR)
    cache = WriteCache(descriptor)
    newest, persistent = bytearray(SIZE), bytearray(SIZE)
    waiting: list[tuple[int, bytes]] = []
    for step in steps:
        if step == "flush":
            cache.flush()
            persistent[:], waiting = newest, []
        elif step == "destage":
            cache.destage(8 * SECTOR)
            while sum(len(content) for _, content in waiting) > 8 * SECTOR:
                start, content = waiting.pop(0)
                persistent[start : start + len(content)] = content
        else:
            start, content = content_of(step)
            cache.write(start, content)
            newest[start : start + len(content)] = content
            waiting.append((start, content))

    assert cache.read(offset, min(length, SIZE - offset)) == newest[offset : offset + length]
    assert path.read_bytes() == persistent
    assert cache.size == sum(len(content) for _, content in waiting)
    os.close(descriptor)


LENGTHS = [4096] * 50 + [512] * 20


def kept(mode: CutMode, seed: int = 1, keep: float = 0.5) -> list[Any]:
    return draw_survivors(LENGTHS, OnCut(mode=mode, keep=keep), cut_random(seed, 1))


def test_a_disk_that_drops_keeps_nothing() -> None:
    assert kept(CutMode.DROP) == []


def test_a_prefix_is_kept_in_order_and_whole() -> None:
    prefix = kept(CutMode.PREFIX)

    assert prefix == [(write, 0, LENGTHS[write]) for write in range(len(prefix))]
    assert len({len(kept(CutMode.PREFIX, seed)) for seed in range(30)}) > 10


def test_a_torn_write_is_the_last_and_kept_in_part() -> None:
    torn = 0
    for seed in range(50):
        extents = kept(CutMode.TORN, seed)
        record = summarise(LENGTHS, extents, cut=1, lies=0, mode=CutMode.TORN, seed=seed)
        *whole, last = extents or [(0, 0, LENGTHS[0])]
        assert whole == [(write, 0, LENGTHS[write]) for write in range(last[0])]
        assert last[1] == 0
        torn += record.torn
    assert torn > 20


def test_reordering_keeps_later_writes_and_loses_earlier_ones() -> None:
    writes = [write for write, _, _ in kept(CutMode.REORDER)]

    assert 15 < len(writes) < 55
    assert writes != list(range(len(writes)))
    assert kept(CutMode.REORDER, keep=0) == []
    assert len(kept(CutMode.REORDER, keep=1)) == len(LENGTHS)


def test_sectors_are_kept_one_by_one() -> None:
    extents = kept(CutMode.SECTORS)
    record = summarise(LENGTHS, extents, cut=1, lies=0, mode=CutMode.SECTORS, seed=1)

    assert record.sectors == 50 * 8 + 20
    assert record.kept == len(extents)
    assert record.kept + record.dropped == record.sectors
    assert record.torn > 30


@pytest.mark.parametrize("mode", list(CutMode))
def test_the_same_seed_keeps_the_same(mode: CutMode) -> None:
    assert kept(mode, seed=5) == kept(mode, seed=5)


def drive(path: Path, settings: DiskSettings, script: Any, log: OperationLog | None = None, cuts: int = 0) -> Any:
    """Run a script against a disk, without a kernel in between."""

    async def run() -> Any:
        return await script(Device(path, settings, log, cuts))

    return trio.run(run)


@given(steps=st.lists(st.one_of(runs, st.just("flush"), st.just("cut")), max_size=25), mode=st.sampled_from(CutMode))
def test_a_crash_image_is_the_disk_that_the_power_cut_left(tmp_path_factory: Any, steps: Any, mode: CutMode) -> None:
    folder = tmp_path_factory.mktemp("crash")
    live, base = image_in(folder), folder / "base"
    base.write_bytes(live.read_bytes())
    on_cut = OnCut(mode=mode)
    settings, cuts = DiskSettings(seed=3, on_cut=on_cut), 0

    async def script(device: Device) -> bool:
        while steps:
            step = steps.pop(0)
            if step == "flush":
                await device.flush()
            elif step == "cut":
                device.cut()
                return True
            else:
                await device.write(*content_of(step))
        device.cut()
        return False

    log = OperationLog(folder / "log")
    while drive(live, settings, script, log, cuts):
        cuts += 1
    with opened(folder / "log") as recording:
        last_cut = max(operation.number for operation in recording if operation.kind is Kind.CUT)
    record = make_crash_image(
        base, folder / "log", folder / "made", after=last_cut - 1, on_cut=on_cut, seed=settings.seed
    )

    assert (folder / "made").read_bytes() == live.read_bytes()
    assert record.cut == cuts + 1


@given(
    steps=st.lists(st.one_of(runs, st.just("flush"), st.just("destage"), st.just("cut")), max_size=20),
    mode=st.sampled_from(CutMode),
    seed=st.integers(0, 3),
)
def test_equal_states_are_equal_disks(tmp_path_factory: Any, steps: Any, mode: CutMode, seed: int) -> None:
    folder = tmp_path_factory.mktemp("states")
    base, log = image_in(folder), OperationLog(folder / "log")
    kinds = {"flush": Kind.FLUSH, "cut": Kind.CUT}
    for step in steps:
        if step == "destage":
            log.mark(Kind.DESTAGE, 1)
        elif step in kinds:
            log.mark(kinds[step])
        else:
            log.write(*content_of(step))
    images: dict[str, bytes] = {}
    for after in range(len(steps) + 1):
        on_cut = OnCut(mode=mode)
        make_crash_image(base, folder / "log", folder / "made", after=after, on_cut=on_cut, seed=seed)
        image = (folder / "made").read_bytes()
        state = crash_state(folder / "log", after=after, on_cut=on_cut, seed=seed)
        assert images.setdefault(state, image) == image


@pytest.mark.parametrize(("block", "flushes"), [(b"\x0c\0\x01\x02.\0\0\0", [2]), (b"\x0c\0\x01\x02..\0\0", [])])
def test_flushes_after_a_folder_changed_are_found(tmp_path: Path, block: bytes, flushes: list[int]) -> None:
    log = OperationLog(tmp_path / "log")
    log.write(4096, bytes(4) + block + bytes(4084))
    log.mark(Kind.FLUSH)
    log.write(8192, bytes(4096))
    log.mark(Kind.FLUSH)

    operations = read_operations(tmp_path / "log", 2**62)

    assert operations.folders.tolist() == flushes
    assert len(operations.times_ns) == 4
    assert len(read_operations(tmp_path / "log", int(operations.times_ns[1])).times_ns) == 2


def test_operations_are_found_by_time_and_a_torn_record_is_left_out(tmp_path: Path) -> None:
    log = OperationLog(tmp_path / "log")
    log.write(0, b"a" * SECTOR)
    log.mark(Kind.FLUSH)
    log.write(SECTOR, b"b" * SECTOR)
    with opened(tmp_path / "log") as recording:
        times = [operation.time_ns for operation in recording]
    with (tmp_path / "log").open("rb+") as file:
        file.truncate((tmp_path / "log").stat().st_size - 1)

    assert count_operations(tmp_path / "log") == 2
    assert operation_at(tmp_path / "log", times[0]) == 1
    assert operation_at(tmp_path / "log", times[0] - 1) == 0
    with pytest.raises(BadInput, match="has 2 operations; there is no operation 3"):
        make_crash_image(image_in(tmp_path), tmp_path / "log", tmp_path / "made", after=3, on_cut=OnCut(), seed=0)
    with pytest.raises(BadInput, match="record: true"):
        count_operations(tmp_path / "absent")


def test_a_lying_flush_keeps_nothing_and_the_next_honest_one_everything(tmp_path: Path) -> None:
    path = image_in(tmp_path)

    async def script(device: Device) -> tuple[bytes, dict[str, int], bytes]:
        await device.write(0, b"x" * SECTOR)
        await device.flush()
        lied, counters = path.read_bytes()[:SECTOR], device.counters()
        device.program(DiskSettings())
        await device.flush()
        return lied, counters, path.read_bytes()[:SECTOR]

    lied, counters, honest = drive(path, DiskSettings(flush_lies=True), script)

    assert lied == bytes(SECTOR)
    assert (counters["lies"], counters["unflushed_sectors"]) == (1, 1)
    assert honest == b"x" * SECTOR


@pytest.mark.parametrize(
    ("settings", "fails"),
    [
        (DiskSettings(), []),
        (DiskSettings(read_errors=1), ["read"]),
        (DiskSettings(write_errors=1), ["write"]),
        (DiskSettings(flush_errors=1), ["flush"]),
        (DiskSettings(bad_sectors=((7, 9),)), ["read", "write"]),
        (DiskSettings(bad_sectors=((1, 6), (16, 99))), []),
    ],
)
def test_errors_hit_what_they_are_set_for(tmp_path: Path, settings: DiskSettings, fails: list[str]) -> None:
    async def script(device: Device) -> list[tuple[str, int | None]]:
        failed: list[tuple[str, int | None]] = []
        for name, request in (
            ("read", lambda: device.read(8 * SECTOR, 4096)),
            ("write", lambda: device.write(8 * SECTOR, bytes(4096))),
            ("flush", device.flush),
        ):
            try:
                await request()
            except OSError as error:
                failed.append((name, error.errno))
        assert device.counters()["errors"] == len(failed)
        return failed

    assert drive(image_in(tmp_path), settings, script) == [(name, errno.EIO) for name in fails]


def test_a_flip_inverts_one_bit_and_is_drawn_by_seed(tmp_path: Path) -> None:
    path = image_in(tmp_path)

    async def script(device: Device) -> list[bytes]:
        return [await device.read(0, 4096) for _ in range(20)]

    flipped = drive(path, DiskSettings(read_flips=0.5, seed=1), script)

    assert {sum(byte.bit_count() for byte in content) for content in flipped} == {0, 1}
    assert flipped == drive(path, DiskSettings(read_flips=0.5, seed=1), script)
    assert flipped != drive(path, DiskSettings(read_flips=0.5, seed=2), script)


def test_a_full_cache_reaches_the_image_oldest_first(tmp_path: Path) -> None:
    path = image_in(tmp_path)

    async def script(device: Device) -> int:
        for sector in range(9):
            await device.write(sector * SECTOR, b"x" * SECTOR)
        return device.counters()["unflushed_sectors"]

    waiting = drive(path, DiskSettings.model_validate({"cache": "4KiB"}), script)

    assert waiting == 4
    assert path.read_bytes().count(b"x") == 5 * SECTOR


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"read_errors": 2}, "less than or equal to 1"),
        ({"bad_sectors": [[5, 4]]}, "is not a range of sectors"),
        ({"flush": 2}, "write a number and a unit"),
        ({"write_iops": 0}, "greater than 0"),
        ({"on_cut": {"mode": "half"}}, "drop"),
        ({"spin": 1}, "Extra inputs"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DiskSettings.model_validate(wrong)
