"""The volatile write cache of a disk: unflushed writes in the order in which they were written.

The image holds only persistent data. Writes stay here unchanged (no copy), and 4 KiB pages point into
them, so that reads find the newest data. A flush moves them to the image.
"""

from __future__ import annotations

import os

PAGE = 4096

Write = tuple[int, bytes]
"""Offset in bytes and content."""


class WriteCache:
    """Unflushed writes in front of an image.

    Args:
        image: descriptor of the image, open for reading and writing.
    """

    def __init__(self, image: int) -> None:
        self._image = image
        self._pages: dict[int, bytes | memoryview] = {}
        self.writes: list[Write] = []
        self.size = 0

    def write(self, offset: int, content: bytes) -> None:
        """Cache a write; nothing reaches the image."""
        self.writes.append((offset, content))
        self.size += len(content)
        self._index(offset, content)

    def read(self, offset: int, length: int) -> bytes:
        """Return the newest content, whether flushed or not."""
        numbers = range(offset // PAGE, (offset + length + PAGE - 1) // PAGE)
        if not self._pages or self._pages.keys().isdisjoint(numbers):
            return os.pread(self._image, length, offset)
        if len(numbers) == 1:
            page = self._pages[numbers[0]]
            start = offset % PAGE
            return bytes(page[start : start + length])
        content = bytearray(os.pread(self._image, length, offset))
        for number in numbers:
            if number in self._pages:
                self._overlay(content, offset, number)
        return bytes(content)

    def flush(self) -> None:
        """Write everything to the image, in order."""
        persist(self._image, self.writes)
        self.discard()

    def destage(self, limit: int) -> int:
        """Write the oldest entries to the image until at most `limit` bytes are left; return their number."""
        count = 0
        while self.size > limit:
            self.size -= len(self.writes[count][1])
            count += 1
        persist(self._image, self.writes[:count])
        self.writes = self.writes[count:]
        self._pages.clear()
        for offset, content in self.writes:
            self._index(offset, content)
        return count

    def discard(self) -> None:
        """Discard all writes."""
        self.writes = []
        self._pages.clear()
        self.size = 0

    def _index(self, offset: int, content: bytes) -> None:
        view = memoryview(content)
        end = offset + len(content)
        for number in range(offset // PAGE, (end + PAGE - 1) // PAGE):
            start = number * PAGE
            if offset <= start and start + PAGE <= end:
                self._pages[number] = view[start - offset : start - offset + PAGE]
            else:
                self._pages[number] = self._merged(number, offset, view)

    def _merged(self, number: int, offset: int, view: memoryview) -> bytes:
        """Return a page that a write covers only partly."""
        start = number * PAGE
        page = bytearray(self._pages.get(number) or os.pread(self._image, PAGE, start).ljust(PAGE, b"\0"))
        low, high = max(start, offset), min(start + PAGE, offset + len(view))
        page[low - start : high - start] = view[low - offset : high - offset]
        return bytes(page)

    def _overlay(self, content: bytearray, offset: int, number: int) -> None:
        start = number * PAGE
        low, high = max(start, offset), min(start + PAGE, offset + len(content))
        content[low - offset : high - offset] = self._pages[number][low - start : high - start]


def persist(image: int, writes: list[Write]) -> None:
    """Apply writes to an image, in order."""
    for offset, content in writes:
        os.pwrite(image, content, offset)
