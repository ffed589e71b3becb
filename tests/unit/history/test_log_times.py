"""When a byte of a log was written, as far as its sizes tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.history.format.log_times import LogTimes, packed, read_times, times_path

GREW = [(0, 10), (0, 40), (100, 50), (100, 90), (150, 100)]


def noted(folder: Path, pairs: list[tuple[int, int]], size: int = 150, torn: bytes = b"") -> LogTimes | None:
    """Return the times of a log of a size, as read again."""
    log = folder / "application-0.log"
    log.write_bytes(b"x" * size)
    times_path(log).write_bytes(packed(pairs) + torn)
    return read_times(log)


@pytest.mark.parametrize(("offset", "written_ns"), [(0, (40, 50)), (99, (40, 50)), (100, (90, 100)), (149, (90, 100))])
def test_a_byte_was_written_between_two_looks(tmp_path: Path, offset: int, written_ns: tuple[int, int]) -> None:
    times = noted(tmp_path, GREW)

    assert times is not None
    assert times.written_ns(offset) == written_ns


@pytest.mark.parametrize(
    ("at_ns", "length"), [(5, 0), (39, 0), (40, 100), (45, 100), (50, 100), (89, 100), (90, 150), (900, 150)]
)
def test_what_may_have_been_written_by_then(tmp_path: Path, at_ns: int, length: int) -> None:
    times = noted(tmp_path, GREW)

    assert times is not None
    assert times.length(at_ns) == length


def test_a_log_that_nobody_watched_has_no_times(tmp_path: Path) -> None:
    (tmp_path / "application-0.log").write_text("hello\n")

    assert read_times(tmp_path / "application-0.log") is None


def test_a_torn_pair_is_dropped(tmp_path: Path) -> None:
    times = noted(tmp_path, GREW, torn=b"\x01\x02\x03")

    assert times is not None
    assert times.size.tolist() == [size for size, _ in GREW]


def test_of_a_log_that_was_emptied_the_former_times_are_left_out(tmp_path: Path) -> None:
    times = noted(tmp_path, [*GREW, (20, 200), (60, 210)], size=60)

    assert times is not None
    assert times.written_ns(30) == (200, 210)


@pytest.mark.parametrize("pairs", [[], [(-1, 5)], [(0, 50), (10, 40)]])
def test_damaged_times_are_none(tmp_path: Path, pairs: list[tuple[int, int]]) -> None:
    assert noted(tmp_path, pairs) is None


def test_a_log_that_has_become_shorter_since_is_another_one(tmp_path: Path) -> None:
    assert noted(tmp_path, GREW, size=149) is None


def test_an_instance_that_printed_nothing_was_watched_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "application-0.log"
    times_path(log).write_bytes(packed([(0, 10)]))
    times = read_times(log)

    assert times is not None
    assert times.length(900) == 0
