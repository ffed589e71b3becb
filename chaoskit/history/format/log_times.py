"""When a log grew: `NAME.times` beside `NAME.log`, as pairs of a size of the log and a time at which it had that size.

Each is 16 bytes: the size in bytes and the time in ns since the start of the run, int64, little-endian, in order of
time. A byte was written after the last time at which the log was too short to have it, and until the first at which it
was long enough.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chaoskit.base.columns import Ints

_PAIR = struct.Struct("<qq")


@dataclass(frozen=True, slots=True)
class LogTimes:
    """When a log had which size; neither ever falls.

    Attributes:
        size: in bytes.
        at_ns: when it had this size, ns since the start of the run.
    """

    size: Ints
    at_ns: Ints

    def length(self, at_ns: int) -> int:
        """Return how many bytes the log may have had at a time: those that were not missing then for sure."""
        later = int(np.searchsorted(self.at_ns, at_ns, side="right"))
        return int(self.size[min(later, self.size.size - 1)])

    def written_ns(self, offset: int) -> tuple[int, int]:
        """Return after and until when a byte of the log was written."""
        seen = min(int(np.searchsorted(self.size, offset, side="right")), self.size.size - 1)
        return int(self.at_ns[max(seen - 1, 0)]), int(self.at_ns[seen])


def times_path(log: Path) -> Path:
    """Return the file with the times of a log."""
    return log.with_suffix(".times")


def packed(pairs: list[tuple[int, int]]) -> bytes:
    """Return pairs of size and time as in the file."""
    return b"".join(_PAIR.pack(*pair) for pair in pairs)


def read_times(log: Path) -> LogTimes | None:
    """Return when a log grew; None: nobody noted it, the times are damaged, or the log is another one: it is shorter.

    Of a log that was emptied while it was watched, the times of what it had before are left out.
    """
    path = times_path(log)
    if not path.exists():
        return None
    content = path.read_bytes()
    whole = np.frombuffer(content, "<i8", len(content) // _PAIR.size * 2).reshape(-1, 2)
    if (whole < 0).any() or (np.diff(whole[:, 1]) < 0).any():
        return None
    shorter = np.flatnonzero(np.diff(whole[:, 0]) < 0)
    size, at_ns = whole[shorter[-1] + 1 if shorter.size else 0 :].T
    if not size.size or (log.stat().st_size if log.exists() else 0) < size[-1]:
        return None
    return LogTimes(size, at_ns)
