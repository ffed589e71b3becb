"""What the machine did while a load ran."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_until
from chaoskit.interop.omb.fitness import doubts
from chaoskit.judge.timing.machine import late_ms, machine_of, seconds_of
from chaoskit.report.words import describe_machine
from chaoskit.run import gauge


def test_a_busy_process_is_seen_and_the_watcher_ends_with_it(tmp_path: Path) -> None:
    path = str(tmp_path / "machine.jsonl")
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) as busy:
        watcher = gauge.start(path, time.monotonic_ns(), {"producer-0": busy.pid, "gone": 2**22 - 1})
        seen = wait_until(lambda: any(second["clients"].get("producer-0") for second in seconds_of(tmp_path)), 60)
        watcher.terminate()
        watcher.wait()
        busy.kill()
    assert seen

    machine = machine_of(seconds_of(tmp_path))

    assert machine is not None
    assert machine["cores"] == os.cpu_count()
    assert 0 < machine["clients"]["producer-0"] < 1.1, "it did nothing but run, on one core, beside others"
    assert "gone" not in machine["clients"]
    total = (
        machine["idle"] + machine["iowait"] + machine["steal"] + machine["others"] + sum(machine["clients"].values())
    )
    assert total == pytest.approx(machine["cores"], abs=0.3)
    assert machine["late_ms"] >= 0
    assert machine_of(seconds_of(tmp_path), 0, 1) is None, "nothing was seen in that interval"


def test_ctrl_c_is_for_the_harness(tmp_path: Path) -> None:
    watcher = gauge.start(str(tmp_path / "machine.jsonl"), time.monotonic_ns(), {})
    assert wait_until(lambda: bool(seconds_of(tmp_path)), 60)

    watcher.send_signal(signal.SIGINT)
    seen = len(seconds_of(tmp_path))
    assert wait_until(lambda: len(seconds_of(tmp_path)) > seen + 1, 60)
    watcher.terminate()
    watcher.wait()


def test_a_watcher_whose_harness_was_killed_before_it_began_ends(tmp_path: Path) -> None:
    harness_that_is_gone = 2**22 - 1

    gauge.watch(str(tmp_path / "machine.jsonl"), time.monotonic_ns(), harness_that_is_gone, {})

    assert not list(seconds_of(tmp_path))


def _line(at_ns: int, **given: Any) -> str:
    known = {"cores": 2, "idle": 1.0, "iowait": 0.0, "steal": 0.0, "clients": {"producer-0": 0.5}, "late_ms": 1.0}
    return str({"at_ns": at_ns, **known, **given}).replace("'", '"') + "\n"


def test_an_interval_has_its_means_and_its_worst(tmp_path: Path) -> None:
    lines = [_line(1), _line(2, idle=0.5, late_ms=7.5), _line(3, idle=0.0)]
    (tmp_path / "machine.jsonl").write_text("".join(lines) + lines[0][:20])

    machine = machine_of(seconds_of(tmp_path), 1, 2)

    assert machine is not None
    assert (machine["idle"], machine["others"], machine["late_ms"]) == (0.75, 0.75, 7.5)
    line = "machine: 2 cores: producer-0 0.50, all else 0.75, idle 0.75; timers fired at most 7.5 ms late"
    assert describe_machine(machine) == line
    assert machine_of(seconds_of(tmp_path / "other")) is None


@pytest.mark.parametrize(
    ("begin_ns", "end_ns", "late"),
    [(1, 9, 5.0), (1, 10, 40.0), (12, 15, 40.0), (21, 25, 7.0), (10, 21, 40.0), (31, 40, None), (25, None, 7.0)],
)
def test_a_second_counts_for_all_that_overlaps_it(
    begin_ns: int, end_ns: int | None, late: float | None, tmp_path: Path
) -> None:
    lines = (_line(at_ns, late_ms=late) for at_ns, late in ((10, 5.0), (20, 40.0), (30, 7.0)))
    (tmp_path / "machine.jsonl").write_text("".join(lines))

    assert late_ms(seconds_of(tmp_path), begin_ns, end_ns) == late


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "machine.jsonl").write_text("{]\n")

    with pytest.raises(BadInput, match=r"machine\.jsonl"):
        machine_of(seconds_of(tmp_path))


@pytest.mark.parametrize(
    ("given", "acked_per_s", "late_us", "why"),
    [
        ({}, 1000, 10, []),
        ({}, 900, 10, ["900/s of 1,000/s were acknowledged"]),
        ({}, 1000, 2500, ["half of the sends were made 2.5 ms late or more"]),
        ({"clients": {"producer-1": 0.97}}, 1000, 10, ["producer-1 used 0.97 of the one core that it can use"]),
        ({"idle": 0.02}, 1000, 10, ["0.02 of 2 cores were idle"]),
        ({"steal": 0.3}, 1000, 10, ["the hypervisor took 0.30 of 2 cores"]),
    ],
)
def test_figures_of_a_full_machine_are_doubted(
    tmp_path: Path, given: dict[str, Any], acked_per_s: float, late_us: int, why: list[str]
) -> None:
    (tmp_path / "machine.jsonl").write_text(_line(1, **given))

    sentences = doubts(
        1000, acked_per_s, {"aggregatedPublishDelayLatency50pct": late_us}, machine_of(seconds_of(tmp_path))
    )

    assert list(sentences) == why
