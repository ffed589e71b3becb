"""Spools rows by key to a file while a history is read, so that only their locations are in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ACKED = 3
"""Kind of a row that has the position of a send, from its completion; the others are those of `scan`."""

ROW = np.dtype([("op", "<i8"), ("value", "<i8"), ("position", "<i8"), ("nth", "<i4"), ("kind", "i1")])


class Spool:
    """Rows of each key, in order of arrival.

    Args:
        path: the file; removed at the end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w+b")
        self._rows = 0
        self._where: dict[int, list[tuple[int, int]]] = {}

    def add(self, kind: int, op: np.ndarray, messages: np.ndarray) -> None:
        """Store the messages of operations.

        Args:
            kind: kind of these rows.
            op: operation of each message.
            messages: rows of `scan.MESSAGE`.
        """
        if not op.size:
            return
        order = np.argsort(messages["key"], kind="stable")
        messages = messages[order]
        rows = np.empty(op.size, ROW)
        rows["op"], rows["kind"] = op[order], kind
        for name in ("value", "position", "nth"):
            rows[name] = messages[name]
        keys, starts = np.unique(messages["key"], return_index=True)
        ends = np.append(starts[1:], op.size)
        for key, start, end in zip(keys.tolist(), starts.tolist(), ends.tolist(), strict=True):
            self._where.setdefault(key, []).append((self._rows + start, end - start))
        rows.tofile(self._file)
        self._rows += op.size

    def keys(self) -> list[int]:
        """Return all keys, in order."""
        return sorted(self._where)

    def rows(self, key: int) -> np.ndarray:
        """Return all rows of a key."""
        parts = []
        for start, count in self._where[key]:
            self._file.seek(start * ROW.itemsize)
            parts.append(np.fromfile(self._file, ROW, count))
        return np.concatenate(parts)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink()
