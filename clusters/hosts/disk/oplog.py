"""The log of a disk's operations. From it and the disk's initial state, any later state can be rebuilt.

A sequence of records: a header of 32 bytes (magic, kind, CLOCK_MONOTONIC in ns, offset, length) and, for a
write, its content. Each record is appended with one system call, so it survives the death of the server; a torn
record at the end is detected and skipped. After a power cut the log continues with what the cut kept, as writes,
and a flush.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from time import monotonic_ns

from chaoskit.base.errors import BadInput

_HEADER = struct.Struct("<4sIQQQ")
_MAGIC = b"ckop"


class Kind(IntEnum):
    """Kind of an operation or event. A destage makes the oldest unflushed writes persistent, for want of space."""

    WRITE = 1
    FLUSH = 2
    CUT = 3
    DESTAGE = 4


@dataclass(frozen=True, slots=True)
class Operation:
    """One record, without its content.

    Attributes:
        number: number of the operation, from 1.
        time_ns: CLOCK_MONOTONIC when the disk received it.
        offset: where a write begins; of a destage, the number of writes.
        position: offset of its content in the log file.
    """

    number: int
    kind: Kind
    time_ns: int
    offset: int
    length: int
    position: int


class OperationLog:
    """Appends operations to a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, offset: int, content: bytes) -> None:
        """Append a write."""
        header = _HEADER.pack(_MAGIC, Kind.WRITE, monotonic_ns(), offset, len(content))
        os.writev(self._file, (header, content))

    def mark(self, kind: Kind, count: int = 0) -> None:
        """Append a flush, a cut, or a destage of so many writes."""
        os.write(self._file, _HEADER.pack(_MAGIC, kind, monotonic_ns(), count, 0))


class Recording:
    """A log opened for reading; see `opened`."""

    def __init__(self, content: mmap.mmap | bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[Operation]:
        position, number = 0, 0
        while position + _HEADER.size <= len(self._content):
            magic, kind, time_ns, offset, length = _HEADER.unpack_from(self._content, position)
            if magic != _MAGIC:
                raise BadInput(f"not a disk operation log: no record at byte {position}")
            position += _HEADER.size
            if position + length > len(self._content):
                return
            number += 1
            yield Operation(number, Kind(kind), time_ns, offset, length, position)
            position += length

    def content(self, operation: Operation, start: int = 0, end: int | None = None) -> bytes:
        """Return bytes [start, end) of a write's content; all by default."""
        end = operation.length if end is None else end
        return self._content[operation.position + start : operation.position + end]


@contextmanager
def opened(path: Path) -> Iterator[Recording]:
    """Open a log for reading.

    Raises:
        BadInput: there is no log.
    """
    if not path.exists():
        raise BadInput(f"{path}: no operation log; record one with cluster.disk.record: true")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            yield Recording(b"")
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield Recording(content)
