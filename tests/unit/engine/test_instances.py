"""Instances of an application: started again when they end, unless a fault decides that, and recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

import pytest

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.workloads.application import Application
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.log_times import read_times
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.run.application.instance import Instance
from chaoskit.run.application.instances import Instances, filled

_SOON_S = 10.0


class Seat:
    """A host without namespaces: its processes are this machine's."""

    name, address, boots = "n4", "127.0.0.1", 1

    def __init__(self) -> None:
        self.pids: list[int] = []

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "the host")

    def seat(self, argv: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )

    def put(self, content: bytes, path: str) -> None:
        self.pids.append(int(content))

    def pid_path(self, name: str) -> str:
        return f"/run/{name}.pid"

    def signal(self, name: str, number: str) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pids[-1], getattr(signal, f"SIG{number}"))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., tuple[Instance, Seat]]]:
    """Makes instances, each of a command for the shell, and ends them."""
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    write_topics(tmp_path / "wal", {})
    instances: list[tuple[Instance, WalWriter]] = []

    def make(script: str, restart_s: float | None = 0.1, holds: Callable[[str], bool] = lambda _: False) -> Any:
        seat, wal = Seat(), WalWriter(tmp_path / "wal", "application-0", 0)
        restart_ns = None if restart_s is None else int(restart_s * 1e9)
        log = tmp_path / "application-0.log"
        argv = ["sh", "-c", script]
        instance = Instance(
            "application-0",
            cast(ServiceHost, seat),
            argv,
            {"GREETING": "hello"},
            log,
            tmp_path / "application-0.stdout",
            WalRecorder(wal, 1),
            restart_ns,
            holds,
        )
        instances.append((instance, wal))
        return instance, seat

    yield make
    for instance, wal in instances:
        instance.stop(1)
        wal.close()


def _soon(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SOON_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_one_that_ends_is_started_again(made: Callable[..., tuple[Instance, Seat]]) -> None:
    instance, seat = made("exit 3")
    instance.begin()

    _soon(lambda: len(seat.pids) >= 3)


def test_one_that_is_never_to_be_started_again_stays_ended(made: Callable[..., tuple[Instance, Seat]]) -> None:
    instance, seat = made("exit 3", restart_s=None)
    instance.begin()
    _soon(lambda: not instance.running())
    time.sleep(0.3)

    assert len(seat.pids) == 1


def test_a_fault_decides_whether_one_runs(made: Callable[..., tuple[Instance, Seat]]) -> None:
    holding = [True]
    instance, seat = made("sleep 60", holds=lambda name: holding[0] and name == "n4")
    instance.begin()
    seat.signal("application", "KILL")
    _soon(lambda: not instance.running())
    time.sleep(0.3)
    assert len(seat.pids) == 1

    instance.start()
    assert instance.running()
    assert len(seat.pids) == 2


def test_its_output_and_its_environment(made: Callable[..., tuple[Instance, Seat]], tmp_path: Path) -> None:
    instance, _ = made('echo "$GREETING"; echo there >&2; exit 1', restart_s=None)
    instance.begin()
    _soon(lambda: {"hello", "there"} <= set(instance.last_words().split()))


def test_whole_lines_of_its_standard_output(made: Callable[..., tuple[Instance, Seat]], tmp_path: Path) -> None:
    instance, _ = made('echo one; echo two >&2; echo three; printf "no line"', restart_s=None)
    instance.begin()
    _soon(lambda: not instance.running())
    instance.stop(1)

    assert (tmp_path / "application-0.stdout").read_text() == "one\nthree\n"


def test_what_happened_is_in_the_history(made: Callable[..., tuple[Instance, Seat]], tmp_path: Path) -> None:
    instance, seat = made("sleep 60", restart_s=None)
    instance.begin()
    seat.signal("application", "KILL")
    _soon(lambda: not instance.running())
    assert instance.stop(1)
    compact(tmp_path)

    rows = History.open(tmp_path).operations.to_pylist()
    assert [(row["client"], row["f"], row["error"]) for row in rows] == [
        ("application-0", "start", None),
        ("application-0", "exit", "signal SIGKILL"),
    ]


def test_one_that_does_not_end_in_time_is_killed(made: Callable[..., tuple[Instance, Seat]]) -> None:
    instance, _ = made("trap '' TERM; while true; do sleep 0.1; done")
    instance.begin()
    time.sleep(0.3)

    assert not instance.stop(0.5)
    assert not instance.running()


def test_the_times_of_what_it_prints_are_noted(tmp_path: Path) -> None:
    (tmp_path / "wal").mkdir()
    origin_ns = write_origin(tmp_path / "wal")
    application = Application(["sh", "-c", "echo begins; echo there >&2; exec sleep 60"], 1, None)
    instances = Instances(application, [cast(ServiceHost, Seat())], {}, tmp_path, lambda: 0, 1, "")
    log = tmp_path / "logs" / "application" / "application-0.log"
    instances.begin(lambda: 1)
    _soon(lambda: log.exists() and len(log.read_text().splitlines()) == 2)
    instances.stop()

    times = read_times(log)
    assert times is not None
    assert times.size[[0, -1]].tolist() == [0, log.stat().st_size]
    assert 0 < times.at_ns[0] <= times.at_ns[-1] < time.monotonic_ns() - origin_ns


def test_names_in_braces_are_replaced() -> None:
    assert filled("{endpoints}/{reads.0}/{unknown}", {"endpoints": "a:1", "reads.0": "t"}) == "a:1/t/{unknown}"
