"""The faults of a run: recorded as they happen, compacted to faults.parquet.

Times are CLOCK_MONOTONIC ns since the start of the run, as everywhere in the history.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from chaoskit.base import durable, parquet, store
from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.reading import RESTORE, reading
from chaoskit.history.format.segment import room_in
from chaoskit.history.format.sound import faults_sound
from chaoskit.model.tables import FAULTS

FAULTS_FILE = "faults.parquet"
_LOG = "faults.jsonl"
REPAIR = "Restore it from a copy, or remove the damaged line"

_REQUIRED = {field.name for field in FAULTS if not field.nullable}


class FaultLog:
    """Writes the faults of a run to `faults.jsonl`; an entry is on disk when `record` returns.

    Args:
        folder: the run's `wal` folder, which must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / _LOG).open("ab")
        durable.sync(folder)

    def record(self, fault: Mapping[str, Any]) -> None:
        """Record the state of a fault: a row of schema FAULTS that replaces earlier ones with its number.

        Raises:
            ValueError: a column is unknown, or a required one is missing.
            HistoryFull: there is no space for it.
        """
        for name in fault.keys() - set(FAULTS.names):
            raise ValueError(f"unknown fault column {name!r}: {nearest(name, FAULTS.names)}")
        missing = {name for name in _REQUIRED if fault.get(name) is None}
        if missing:
            raise ValueError(f"missing fault columns: {', '.join(sorted(missing))}")
        with room_in(self._folder):
            self._file.write(json.dumps(dict(fault)).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def __enter__(self) -> FaultLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def compact_faults(run_folder: Path) -> int:
    """Write faults.parquet, durably, and return the number of faults; a torn last line is skipped (`torn_faults`).

    Raises:
        BadInput: the log is damaged; or it is missing, though the load had begun: nobody knows what was done.
    """
    path = run_folder / "wal" / _LOG
    if not path.exists() and (run_folder / store.RECOVERY).exists():
        raise BadInput(f"{path} is missing: without it the faults are unknown. {RESTORE}")
    faults = _read(path)
    with reading(path, REPAIR):
        rows = [faults[number] for number in sorted(faults)]
        table = faults_sound(pa.Table.from_pylist(rows, schema=FAULTS))
    with durable.whole(run_folder / FAULTS_FILE) as unfinished:
        parquet.write(table, unfinished)
    return len(faults)


def torn_faults(run_folder: Path) -> str:
    """Return what is in doubt of the faults because their log was torn or is missing; empty if it is whole.

    A log that was removed after it had been compacted is not missed.
    """
    path = run_folder / "wal" / _LOG
    if not path.exists():
        begun = any(path.parent.glob("*.wal"))
        return f"{path.name} is missing: the faults are unknown" if begun else ""
    with reading(path, REPAIR), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        torn = file.read(1) not in (b"", b"\n")
    return f"the last line of {path.name} is torn: the last fault is unknown" if torn else ""


def _read(path: Path) -> dict[int, dict[str, Any]]:
    """Return the last state of each fault."""
    if not path.exists():
        return {}
    with reading(path, REPAIR):
        lines = path.read_bytes().split(b"\n")[:-1]
        return {fault["fault"]: fault for fault in map(json.loads, lines)}
