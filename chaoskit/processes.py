"""The processes of this machine, by what they were started with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal


def started_with(what: Literal["cmdline", "environ"]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield each process id with the words of its command line, or with its environment; both as in proc(5)."""
    for path in Path("/proc").glob(f"[0-9]*/{what}"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # the process ended while we looked
            continue
        yield int(path.parent.name), words
