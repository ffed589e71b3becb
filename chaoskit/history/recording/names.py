"""Names of topics, keys, errors and operations. Each is written once; records refer to it by id.

`<client>.names` is a JSON Lines file with one string per line; the id of a name is its line number,
from 1. The file is preallocated with zeros, and one step is always kept in reserve, so that the error
of a completion can still be named when the disk is full.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from chaoskit.history.format.segment import HistoryFull, room_in

_STEP_BYTES = 64 << 10  # enough for a few hundred error messages


class NameLog:
    """Writes the names of one client.

    Attributes:
        ids: the id of every name written so far.
    """

    def __init__(self, path: Path) -> None:
        self.ids: dict[str, int] = {}
        self._path = path
        self._end = 0
        self._allocated = 0
        # Exclusive: two clients with the same name would mix their records.
        self._file = path.open("xb", buffering=0)
        self._extend()

    def add(self, text: str) -> int:
        """Write a new name and return its id.

        Raises:
            HistoryFull: there is no space for it; nothing was written.
        """
        # Text that is not valid UTF-8 (an error message with raw bytes) is escaped, not lost.
        encodable = text.encode("utf-8", "backslashreplace").decode()
        line = json.dumps(encodable, ensure_ascii=False).encode() + b"\n"
        end = self._end + len(line)
        while end > self._allocated - _STEP_BYTES:
            try:
                self._extend()
            except HistoryFull:
                if end > self._allocated:
                    raise
                break
        os.pwrite(self._file.fileno(), line, self._end)
        self._end = end
        self.ids[text] = len(self.ids) + 1
        return self.ids[text]

    def close(self) -> None:
        """Release unused space."""
        if not self._file.closed:
            self._file.truncate(self._end)
            self._file.close()

    def _extend(self) -> None:
        with room_in(self._path.parent):
            os.posix_fallocate(self._file.fileno(), self._allocated, _STEP_BYTES)
        self._allocated += _STEP_BYTES


def read_names(path: Path) -> list[str | None]:
    """Return the names in the order of their ids, from 1; None if a line is damaged.

    An incomplete last line is skipped, because no record ever used it.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    return [_parse(line) for line in content.partition(b"\0")[0].split(b"\n")[:-1]]


def _parse(line: bytes) -> str | None:
    try:
        name = json.loads(line)
    except ValueError:
        return None
    return name if isinstance(name, str) else None
