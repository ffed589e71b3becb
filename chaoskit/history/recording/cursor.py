"""Where a write-ahead log is written: in C where it was compiled (`hot.c`), and else in Python."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING


class PythonCursor:
    """Where a write-ahead log is written: the next record, the end of its segment, the next operation."""

    __slots__ = ("_admitted_end", "_end", "_next_op", "_offset")

    _admitted_end: int
    _end: int
    _next_op: int
    _offset: int

    def _map(self, segment: mmap.mmap | None) -> None:
        """Write to this segment from now on; None: to none."""


if TYPE_CHECKING:
    Cursor = PythonCursor
else:
    try:
        from chaoskit.history.recording._hot import Cursor
    except ImportError:
        Cursor = PythonCursor
