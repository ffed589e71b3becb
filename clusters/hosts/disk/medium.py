"""A disk that is rebuilt write by write in a file, to find payloads also across sectors, pages and writes."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence

import numpy as np

from chaoskit.model import payload
from chaoskit.model.occurrences import search as payloads
from clusters.hosts.disk.finds import Finds
from clusters.hosts.disk.journal import JournalStep, steps
from clusters.hosts.disk.oplog import Operation, Recording

BLOCK = 4096
"""Bytes of a block of a file system."""

_HEADS_MAX, _WRITES_MAX = 16, 64
"""The first parts of so many payloads are remembered; second parts are looked for in so many writes before."""

Write = tuple[int, bytes]
"""Offset of a write, and what was there before."""


class Medium:
    """A disk and the payloads on it.

    Args:
        file: an empty file, which becomes the disk.
        length: size of the disk, in bytes.
        run_id: the run whose payloads are searched.
        size: size of each payload, in bytes.
    """

    def __init__(self, file: int, length: int, run_id: int, size: int) -> None:
        os.ftruncate(file, length)
        self._content = mmap.mmap(file, length)
        self._wanted = run_id, size
        self._kept = bytearray(-(-length // BLOCK))
        self._unflushed: list[Write] = []
        self._pieces = _Pieces(self._content, run_id, size)
        self.finds = Finds()

    def write(self, recording: Recording, operation: Operation) -> None:
        start, end = operation.offset, operation.offset + operation.length
        had = payloads(self._content, start, end, *self._wanted)
        self._unflushed.append((start, self._content[start:end]))
        content = recording.content(operation)
        self._content[start:end] = content
        values = payloads(self._content, start, end, *self._wanted)
        if had and not values.startswith(had):
            self.finds.gone(set(np.setdiff1d(np.frombuffer(had, np.int64), np.frombuffer(values, np.int64)).tolist()))
        if values:
            blocks = self._kept[start // BLOCK : -(-end // BLOCK)]
            self.finds.written(values, operation.time_ns, in_place=all(blocks))
        self._pieces.written(start, end)
        for step in steps(content):
            if step is JournalStep.BEGIN:
                self._join(operation.time_ns)
                self.finds.logged()
            else:
                self.finds.committed()

    def flush(self, at_ns: int) -> None:
        self._join(at_ns)
        for start, content in self._unflushed:
            first, end = start // BLOCK, -(-(start + len(content)) // BLOCK)
            self._kept[first:end] = b"\1" * (end - first)
        self._unflushed.clear()
        self._pieces.forget()
        self.finds.flushed(at_ns)

    def destage(self, count: int) -> None:
        """The disk wrote its oldest unflushed writes to the medium, for want of space."""
        del self._unflushed[:count]

    def cut(self) -> None:
        for start, content in reversed(self._unflushed):
            self._content[start : start + len(content)] = content
        self._unflushed.clear()
        self._pieces.forget()
        self.finds.lost()

    def close(self) -> None:
        self._content.close()

    def _join(self, at_ns: int) -> None:
        if values := self._pieces.joined(self._unflushed[-_WRITES_MAX:]):
            self.finds.written(values, at_ns, in_place=False)


class _Pieces:
    """Payloads whose second part is not behind the first one on the disk: a file goes on elsewhere at a block's end.

    Both parts must be written between two flushes, and the second one must not belong to a payload that is whole where
    it is: all payloads of a client end alike.

    Args:
        content: the disk, as it is now.
        run_id, size: see `Medium`.
    """

    def __init__(self, content: mmap.mmap, run_id: int, size: int) -> None:
        self._content = content
        self._run_id = run_id
        self._size = size
        self._prefix = payload.prefix(run_id)
        self._heads: dict[int, bytes] = {}
        self._taken: set[int] = set()

    def written(self, start: int, end: int) -> None:
        """Note a write [start, end)."""
        for at, head in list(self._heads.items()):
            again = start < at + len(head) and at < end
            if again or (start < at + self._size and at < end + self._size and self._whole(at)):
                del self._heads[at]
        begun = self._head_at(start, end) if end % BLOCK == 0 else None
        if begun is not None:
            self._heads[begun] = self._content[begun:end]
            if len(self._heads) > _HEADS_MAX:
                del self._heads[next(iter(self._heads))]

    def joined(self, writes: Sequence[Write]) -> bytes:
        """Return the values of payloads that are whole with a part from one of some writes."""
        values = b""
        for at, head in list(self._heads.items()):
            value = next((value for start, old in writes if (value := self._tail_in(head, start, len(old)))), b"")
            if value:
                values += value
                del self._heads[at]
        return values

    def forget(self) -> None:
        """Join no later part to what was written so far."""
        self._heads.clear()
        self._taken.clear()

    def _head_at(self, start: int, end: int) -> int | None:
        """Return where a payload begins that lacks at most a block at the end of a write; None if there is none."""
        low = max(end - self._size + 1, start)
        tail = self._content[low:end]
        at = tail.rfind(self._prefix)
        if at < 0:
            short = range(min(len(self._prefix) - 1, len(tail)), 1, -1)
            at = next((len(tail) - size for size in short if tail.endswith(self._prefix[:size])), -1)
        lacks = self._size - len(tail) + at
        return None if at < 0 or lacks > BLOCK or self._whole(low + at) else low + at

    def _tail_in(self, head: bytes, start: int, length: int) -> bytes:
        """Return the value of a payload that goes on in a block of a write; empty if it does not."""
        for block in range(-(-start // BLOCK) * BLOCK, start + length, BLOCK):
            whole = head + self._content[block : block + self._size - len(head)]
            value = payloads(whole, 0, len(whole), self._run_id, self._size)
            if value and block not in self._taken and not self._whole(block - len(head)):
                self._taken.add(block)
                return value
        return b""

    def _whole(self, at: int) -> bool:
        """Return whether there is a whole payload at a place."""
        return at >= 0 and payload.read(self._content[at : at + self._size], self._run_id)[0] == payload.OK
