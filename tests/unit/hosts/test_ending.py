"""The end of a recording, also of a host that can no longer be synced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskit.contract.hosts.host import CommandResult, HostError
from chaoskit.contract.hosts.recorded_disk import NEVER
from clusters.hosts.disk.ending import end_recording, ended_ns, read_end
from clusters.hosts.disk.layout import LOG


class Machine:
    """A host that answers a sync with a status, or not at all."""

    def __init__(self, status: int | None) -> None:
        self._status = status

    def run(self, argv: list[str], **_: Any) -> CommandResult:
        if self._status is None:
            raise HostError("no answer")
        return CommandResult(self._status, "", "")


@pytest.mark.parametrize(("status", "synced"), [(0, True), (1, False), (None, False)])
def test_it_says_whether_the_host_was_synced(tmp_path: Path, status: int | None, synced: bool) -> None:
    (tmp_path / LOG).write_bytes(b"x" * 7)
    host: Any = Machine(status)

    end_recording(host, "/data", tmp_path, [5, 6])

    end = read_end(tmp_path)
    assert (end.synced, end.length, list(end.syncs_ns)) == (synced, 7, [5, 6])
    assert 0 < end.at_ns == ended_ns(tmp_path)


def test_a_recording_of_an_older_chaoskit_has_no_end(tmp_path: Path) -> None:
    assert ended_ns(tmp_path) == NEVER
