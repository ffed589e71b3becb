"""Making room on the disk before it is needed: a full disk is an error here, never a SIGBUS later."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaoskit.base.errors import RunFailed
from chaoskit.history.record import HEADER, MAGIC, VERSION

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class HistoryFull(RunFailed):
    """There is no room for more history. What was recorded before is kept and can be read."""


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Turn the system's ways to say "disk full" into `HistoryFull`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise HistoryFull(
            f"no room for more history in {folder} ({error.strerror}). Everything recorded so far is "
            "kept there. Free space on that disk, or use --store to name a folder on a larger one, "
            "and run again"
        ) from error


def create(path: Path, segment_bytes: int, process: int, client: str) -> mmap.mmap:
    """Return a new segment, mapped; it gets its name only once its room and its header are there.

    Raises:
        HistoryFull: there is no room for it; nothing is left behind.
    """
    name = client.encode()
    unfinished = path.with_suffix(".new")
    try:
        with room_in(path.parent), unfinished.open("xb+") as file:
            os.posix_fallocate(file.fileno(), 0, segment_bytes)
            segment = mmap.mmap(file.fileno(), segment_bytes)
            HEADER.pack_into(segment, 0, MAGIC, VERSION, process, len(name))
            segment[HEADER.size : HEADER.size + len(name)] = name
            unfinished.rename(path)
    except HistoryFull:
        unfinished.unlink(missing_ok=True)
        raise
    return segment
