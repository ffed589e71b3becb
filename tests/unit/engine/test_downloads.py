"""A dry run waits for nobody who downloads."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from chaoskit.base.downloads import one_at_a_time, told_only
from chaoskit.base.errors import WouldDownload


def test_a_dry_run_does_not_wait_for_another_process_that_downloads(tmp_path: Path) -> None:
    with (tmp_path / "kafka-4.1.1.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with (
            told_only() as notices,
            pytest.raises(WouldDownload),
            one_at_a_time(tmp_path / "kafka-4.1.1", "Kafka 4.1.1"),
        ):
            pass

    assert notices == ["Kafka 4.1.1, which another process is making now"]


def test_one_process_at_a_time_makes_a_folder(tmp_path: Path) -> None:
    folder, lock = tmp_path / "new" / "kafka", tmp_path / "new" / "kafka.lock"
    with one_at_a_time(folder, "Kafka"), lock.open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with told_only(), one_at_a_time(folder, "Kafka"):
        pass
