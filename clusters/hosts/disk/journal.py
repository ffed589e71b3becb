"""The journal of a file system, as it is seen in the writes of its disk."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

_JBD2 = b"\xc0\x3b\x39\x98"
"""What each block of the journal of ext4 begins with that is no copy of another block; then comes its type.

See `struct journal_header_s` of Linux' include/linux/jbd2.h.
"""

_DESCRIPTOR, _COMMIT = b"\0\0\0\1", b"\0\0\0\2"

_XFS = b"\xfe\xed\xba\xbe"
"""What each record of the log of XFS begins with.

See `struct xlog_rec_header` of Linux' fs/xfs/libxfs/xfs_log_format.h.
"""


class JournalStep(Enum):
    """A step of a transaction of the journal: it begins to be written, or its end is written."""

    BEGIN = auto()
    COMMIT = auto()


def steps(content: bytes) -> Iterator[JournalStep]:
    """Yield the steps that a write does, in order, given its content."""
    at = content.find(_JBD2)
    while at >= 0:
        end = at + len(_JBD2)
        if content.startswith(_DESCRIPTOR, end):
            yield JournalStep.BEGIN
        elif content.startswith(_COMMIT, end):
            yield JournalStep.COMMIT
        at = content.find(_JBD2, end)
    if _XFS in content:
        yield JournalStep.BEGIN
        yield JournalStep.COMMIT
