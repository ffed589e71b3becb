"""Allocates disk space before it is needed: a full disk is an error here, never a SIGBUS later."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaoskit.base.durable import FULL
from chaoskit.base.errors import RunFailed
from chaoskit.history.format.record import HEADER, MAGIC, VERSION


class HistoryFull(RunFailed):
    """There is no space for more history. Everything recorded before is kept and can be read.

    Attributes:
        status: exit status of a client's process that ends because of it; its log has the message.
    """

    status: int = errno.ENOSPC


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Convert the operating system's "disk full" errors to `HistoryFull`."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        run = folder.parent if folder.name == "wal" else folder
        raise HistoryFull(
            f"no space for more history in {folder} ({error.strerror}). Everything recorded so far is kept there: with "
            f"some space on that disk, `chaoskit check {run}` judges it. To run again, use --store with a "
            "folder on a larger disk"
        ) from error


def create(path: Path, segment_bytes: int, process: int, client: str) -> mmap.mmap:
    """Create and map a new segment; it gets its final name only after it is allocated and has a header.

    Raises:
        HistoryFull: there is no space for it; nothing is left behind.
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
