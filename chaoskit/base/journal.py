"""A journal of everything that a run creates on a machine, written before it is created.

One JSON Lines file per run, fsynced after each line. The harness holds a lock on it for as long as
it lives. A journal that exists but is not locked belongs to a harness that died: `chaoskit heal`
undoes its entries, newest first, and deletes it. Undoing an entry is idempotent.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from chaoskit.base import durable, ending
from chaoskit.base.errors import BadInput
from chaoskit.base.state import state_folder


class Journal:
    """The open journal of this process. While there is one, SIGTERM and SIGHUP end the process as Ctrl-C does.

    Leaving the context releases the lock and keeps the file for `chaoskit heal`; `close` deletes it.

    Args:
        name: file name without suffix; unique among live runs.
    """

    def __init__(self, name: str) -> None:
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        self.path: Path = folder / f"{name}.jsonl"
        self._file = self._open_locked()
        ending.hold()
        durable.sync(folder)

    def record(self, provider: str, **entry: Any) -> None:
        """Write an entry durably. `provider` names the entry point in `chaoskit.hosts` that undoes it."""
        self._file.write(json.dumps({"provider": provider, **entry}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Delete the journal, once everything in it has been undone."""
        self.path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Release the lock and leave the file for `chaoskit heal`."""
        if not self._file.closed:
            self._file.close()
            ending.let_go()

    def _open_locked(self) -> TextIO:
        """Open and lock the file; retry if a concurrent `heal` took it for abandoned and deleted it."""
        while True:
            file = self.path.open("a", encoding="utf-8")
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Abandoned:
    """The journal of a harness that died, locked by this process while it heals."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self._file = file

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries, newest first."""
        return _read(self.path)[::-1]

    def close(self) -> None:
        """Delete the journal, once everything in it has been undone."""
        self.path.unlink(missing_ok=True)
        self._file.close()


def abandoned(only: Path | None = None) -> Iterator[Abandoned]:
    """Yield every journal whose harness has died; skip those of live runs.

    Args:
        only: the path of the only one that is meant; None: all.

    Raises:
        BadInput: only root can tell, and undo what is in one.
    """
    for path in sorted(_folder().glob("*.jsonl")) if only is None else [only]:
        try:
            file = path.open("r+", encoding="utf-8")
        except FileNotFoundError:  # its run ended cleanly in the meantime
            continue
        except PermissionError:
            raise BadInput(f"{path}: the journal of a run that root started; run `sudo chaoskit heal`") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield Abandoned(path, file)


def claims(key: str) -> list[Any]:
    """Return the values of `key` in every journal on this machine, live or abandoned."""
    entries = (entry for path in _folder().glob("*.jsonl") for entry in _read(path))
    return [entry[key] for entry in entries if key in entry]


def entries_left() -> bool:
    """Return whether any journal on this machine has entries that were not undone."""
    return any(_read(path) for path in _folder().glob("*.jsonl"))


def _read(path: Path) -> list[dict[str, Any]]:
    """Skip a torn last line, which was never acted upon. A run that has just ended has no entries."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    entries = []
    for line in text.splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def _folder() -> Path:
    return state_folder() / "journal"
