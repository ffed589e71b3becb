"""Files that appear whole or not at all, even when the machine stops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def sync(path: Path) -> None:
    """Force a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(source: Path, target: Path) -> None:
    """Give a finished file or folder its final name, durably; an existing file is replaced."""
    source.replace(target)
    sync(target.parent)


def write(path: Path, content: bytes) -> None:
    """Write a small file, durably and at once."""
    with whole(path) as unfinished:
        unfinished.write_bytes(content)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield the path under which to write a file; it gets its own name, durably, only if that succeeds."""
    unfinished = path.with_name(f".{path.name}.new")
    try:
        yield unfinished
        sync(unfinished)
        move(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
