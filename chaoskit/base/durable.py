"""Atomic file writes that survive a crash: a file appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    finally:
        unfinished.unlink(missing_ok=True)
