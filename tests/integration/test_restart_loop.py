"""A restart loop around a program that exits, and one that is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from chaoskit.contract.hosts.host import CommandResult
from clusters.common.restart_loop import exits, looped


class Host:
    """This machine, as a host whose only service has the log."""

    name = "n1"

    def __init__(self, log: Path) -> None:
        self._log = log

    def log_path(self, service: str) -> str:
        return str(self._log)

    def run(self, argv: list[str], **_: Any) -> CommandResult:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return CommandResult(done.returncode, done.stdout, done.stderr)


def _started(log: Path, *command: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(looped(command), stdout=file, stderr=file, start_new_session=True)


def _wait(log: Path, count: int) -> None:
    deadline = time.monotonic() + 20
    while log.read_text().count("restart loop:") < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_service_that_exits_is_started_again_after_longer_and_longer_pauses(tmp_path: Path) -> None:
    log = tmp_path / "log"
    loop = _started(log, "sh", "-c", "exit 3")
    try:
        _wait(log, 2)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()

    first, second = exits(Host(log), "bookie", ("n2",))[:2]  # type: ignore[arg-type]
    assert (first.host, first.service, first.needs, first.why) == ("n1", "bookie", ("n2",), "exited with status 3")
    assert (second.at_ns - first.at_ns) / 1e9 >= 1
    assert [line.rpartition("start in ")[2] for line in log.read_text().splitlines()[:2]] == ["1 s", "2 s"]


def test_a_loop_ends_with_its_service_when_both_are_told_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    loop = _started(log, "sh", "-c", "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    deadline = time.monotonic() + 20
    while "ready" not in log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)

    os.killpg(loop.pid, signal.SIGTERM)

    loop.wait(timeout=20)
    assert log.read_text().endswith("bye\n")
    assert "restart loop:" not in log.read_text()
