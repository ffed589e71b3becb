"""Reads operations of a Jepsen history in C (`scan.c`), if it was compiled; else all are left to the EDN reader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

_VISIBLE = re.compile(rb"[^\s,]")

SENT, POLLED, ASSIGNED = range(3)
"""Kinds of messages: sent, polled; or none, but a key that is assigned."""

NONE = -1
"""An unknown position or time."""

ENTRY = np.dtype([("time_ns", "i8"), ("process", "i4"), ("line", "i4"), ("type", "i1"), ("f", "i1")], align=True)
"""An invocation or a completion. `type` and `f` are indices into `lines.TYPES` and `lines.FS`."""

MESSAGE = np.dtype(
    [("entry", "i8"), ("key", "i8"), ("position", "i8"), ("value", "i8"), ("nth", "i4"), ("kind", "i1")], align=True
)
"""A message in the value of an entry, or a key that it assigns. `nth` is the number of earlier sends in the entry."""


def skip_blanks(text: bytes, at: int, entry: int, line: int, known: dict[str, int], /) -> tuple[bytes, bytes, int, int]:
    """Skip blanks and commas, and read nothing: all that is done instead of `scan` without a compiler."""
    rest = _VISIBLE.search(text, at)
    end = rest.start() if rest else len(text)
    return b"", b"", end, line + text.count(b"\n", at, end)


if TYPE_CHECKING:

    def scan(text: bytes, at: int, entry: int, line: int, known: dict[str, int], /) -> tuple[bytes, bytes, int, int]:
        """Read operations, and blanks, until one that is not written as most are, or is incomplete.

        Args:
            text: a section of the history.
            at: where to begin.
            entry: number of the first entry.
            line: number of the first line.
            known: numbers of names, as `names.Interned` has them.

        Returns:
            Rows of ENTRY, rows of MESSAGE, where it ended, and at which line.
        """

    COMPILED = True
else:
    try:
        from chaoskit.interop.jepsen._scan import scan

        COMPILED = True
    except ImportError:
        scan = skip_blanks
        COMPILED = False
