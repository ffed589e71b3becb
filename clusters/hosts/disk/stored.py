"""When each message of a run was on a recorded disk: its payload is searched in what was written.

A payload is found only where all of it is there (its CRC says so). It is stable once its file has it for good: from the
flush after the file system's journal has committed the write, or, of blocks that were there before, from the next flush
that is none of the journal's. A power cut takes back what was not flushed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading
from chaoskit.contract.hosts.recorded_disk import Stored
from clusters.hosts.disk.ending import read_end
from clusters.hosts.disk.layout import BASE, LOG
from clusters.hosts.disk.medium import Medium
from clusters.hosts.disk.oplog import Kind, opened


def stored(recording: Path, run_id: int, size: int) -> Stored:
    """Return when each message was on a disk; see `chaoskit.contract.hosts.recorded_disk.RecordedDisks.stored`."""
    ended = read_end(recording)
    log = recording / LOG
    with reading(log):
        needed, length = log.stat().st_size, (recording / BASE).stat().st_size
    with tempfile.TemporaryFile() as file:
        if (free := shutil.disk_usage(tempfile.gettempdir()).free) < needed:
            raise BadInput(
                f"{log}: rebuilding the disk takes up to {needed / 2**20:,.0f} MiB in {tempfile.gettempdir()}, where "
                f"{free / 2**20:,.0f} MiB are free; free some, or set TMPDIR"
            )
        medium = Medium(file.fileno(), length, run_id, size)
        with reading(log):
            end = _follow(log, medium)
        medium.close()
    values, written_ns, stable_ns = medium.finds.settled()
    return Stored(
        values,
        written_ns,
        stable_ns,
        ended_ns=ended.at_ns,
        synced=ended.synced,
        torn=end < ended.length,
        overwritten=medium.finds.overwritten,
        syncs_ns=ended.syncs_ns,
    )


def _follow(log: Path, medium: Medium) -> int:
    """Do all operations of a log; return where the last whole one ends, in bytes."""
    end = 0
    with opened(log) as recording:
        for operation in recording:
            match operation.kind:
                case Kind.WRITE:
                    medium.write(recording, operation)
                case Kind.FLUSH:
                    medium.flush(operation.time_ns)
                case Kind.CUT:
                    medium.cut()
                case Kind.DESTAGE:
                    medium.destage(operation.offset)
            end = operation.position + operation.length
    return end
