"""Atomic file writes that survive a crash: a file appears complete or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaoskit.base.errors import BadInput

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the operating system says when there is no space for a file."""


def unwritable(error: OSError) -> BadInput | None:
    """Return what to tell a user whose disk is full or cannot be written; None if it is another error."""
    if error.errno not in (*FULL, errno.EROFS):
        return None
    name = f"{error.filename}: " if error.filename else ""
    remedy = "mount it for writing" if error.errno == errno.EROFS else "free some space"
    return BadInput(
        f"{name}{os.strerror(error.errno)}; {remedy}, or choose another folder, and repeat the command. "
        "What was recorded is kept"
    )


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(source: Path, target: Path) -> None:
    """Rename a finished file or folder durably; an existing file is replaced."""
    source.replace(target)
    sync(target.parent)


def write(path: Path, content: bytes) -> None:
    """Write a small file atomically and durably."""
    with whole(path) as unfinished:
        unfinished.write_bytes(content)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; if the block succeeds, rename it to `path` durably."""
    unfinished = path.with_name(f".{path.name}.new")
    try:
        yield unfinished
        sync(unfinished)
        move(unfinished, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        unfinished.unlink(missing_ok=True)
