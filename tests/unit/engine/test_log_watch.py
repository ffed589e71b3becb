"""The growth of logs is noted beside them, whatever happens to the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.history.format.log_times import read_times, times_path
from chaoskit.run.application import log_watch
from chaoskit.run.application.log_watch import LogWatch

ORIGIN_NS = 1000


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_ns = ORIGIN_NS

    def monotonic_ns(self) -> int:
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(log_watch, "time", made)
    return made


def pairs(log: Path) -> list[tuple[int, int]]:
    times = read_times(log)
    assert times is not None
    return list(zip(times.size.tolist(), times.at_ns.tolist(), strict=True))


def grow(log: Path, text: bytes) -> None:
    with log.open("ab") as file:
        file.write(text)


def look(watch: LogWatch, clock: Clock, at_ns: int) -> None:
    clock.now_ns = ORIGIN_NS + at_ns
    watch.look()


def test_a_growth_is_noted_with_the_last_look_before_it(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "application-0.log"
    watch = LogWatch([log], ORIGIN_NS)
    look(watch, clock, 10)
    look(watch, clock, 20)
    look(watch, clock, 30)
    grow(log, b"one\n")
    look(watch, clock, 40)
    grow(log, b"two\n")
    look(watch, clock, 50)

    assert pairs(log) == [(0, 10), (0, 30), (4, 40), (8, 50)]


def test_each_log_has_its_own_times(tmp_path: Path, clock: Clock) -> None:
    logs = [tmp_path / f"application-{number}.log" for number in range(2)]
    watch = LogWatch(logs, ORIGIN_NS)
    grow(logs[1], b"one\n")
    look(watch, clock, 10)

    assert [pairs(log) for log in logs] == [[(0, 10)], [(4, 10)]]


def test_what_a_full_disk_refuses_has_a_longer_interval(tmp_path: Path, clock: Clock) -> None:
    log, kept = tmp_path / "application-0.log", tmp_path / "kept"
    watch = LogWatch([log], ORIGIN_NS)
    look(watch, clock, 10)
    look(watch, clock, 20)
    grow(log, b"one\n")
    times_path(log).rename(kept)
    times_path(log).symlink_to("/dev/full")
    look(watch, clock, 30)
    kept.rename(times_path(log))
    look(watch, clock, 40)

    assert pairs(log) == [(0, 10), (0, 20), (4, 40)]


def test_half_a_pair_is_taken_back(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "application-0.log"
    watch = LogWatch([log], ORIGIN_NS)
    look(watch, clock, 10)
    with monkeypatch.context() as full:
        full.setattr(log_watch, "packed", Torn)
        grow(log, b"one\n")
        look(watch, clock, 20)
    assert times_path(log).stat().st_size == 16
    look(watch, clock, 30)

    assert pairs(log) == [(0, 10), (4, 30)]


class Torn(bytes):
    """Bytes of which only a part goes to the file."""

    __slots__ = ()

    def __new__(cls, _: object) -> Torn:
        return super().__new__(cls, b"\x01\x02\x03")

    def __len__(self) -> int:
        return 16


def test_a_log_that_is_gone_is_empty(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "application-0.log"
    watch = LogWatch([log], ORIGIN_NS)
    grow(log, b"one\n")
    look(watch, clock, 10)
    log.unlink()
    look(watch, clock, 20)
    grow(log, b"three\n")
    look(watch, clock, 30)

    assert pairs(log) == [(0, 20), (6, 30)]


def test_it_looks_once_more_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "application-0.log"
    watch = LogWatch([log], 0)
    watch.begin()
    grow(log, b"last words\n")
    watch.end()

    assert pairs(log)[-1][0] == len("last words\n")
