"""The lines of a file that grows, and may lose some."""

from __future__ import annotations

from itertools import takewhile
from operator import eq
from pathlib import Path


class Tail:
    """Reads the lines of a file as they come. What follows the last newline is no line yet.

    Args:
        path: the file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._lines: list[bytes] = []

    def read(self, *, whole: bool) -> tuple[int, list[bytes]]:
        """Return how many of the lines that are known are still there, and those that follow them, without newlines.

        Args:
            whole: whether all are read again. Otherwise only a file that is shorter than before has lost lines.
        """
        whole = whole or size_of(self._path) < self._read
        text, newline, _ = self._content(0 if whole else self._read).rpartition(b"\n")
        lines = text.split(b"\n") if newline else []
        length = len(text) + len(newline)
        if whole:
            kept = sum(takewhile(bool, map(eq, self._lines, lines)))
            self._read, self._lines = length, lines
            return kept, lines[kept:]
        self._read += length
        self._lines += lines
        return len(self._lines) - len(lines), lines

    def _content(self, begin: int) -> bytes:
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            file.seek(begin)
            return file.read()


def size_of(path: Path) -> int:
    """Return the size of a file; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0
