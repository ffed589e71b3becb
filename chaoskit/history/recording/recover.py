"""Reads write-ahead logs of clients that finished, crashed, or are still writing.

A record is valid if its mark is correct (see `record`). Anything else up to the last byte written is a
torn record, which is counted and skipped. For a running client, a prefix of its log is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading
from chaoskit.history.format.record import (
    AUDIT,
    COMPLETE,
    HEADER,
    HEADER_BYTES,
    INVOKE,
    MAGIC,
    NO_TIME,
    OBSERVED,
    RECEIVED,
    RECORD,
    RECORD_BYTES,
    SEND,
    VERSION,
    Records,
    is_named,
)
from chaoskit.history.recording.names import read_names
from chaoskit.model.message import PAYLOADS
from chaoskit.model.observations.row import KINDS
from chaoskit.model.operation import SENDING
from chaoskit.model.outcome import OUTCOMES

_CODES = {SEND: len(SENDING), INVOKE: 1, COMPLETE: len(OUTCOMES), RECEIVED: len(PAYLOADS), OBSERVED: len(KINDS) + 1}
"""How many codes a kind of record has."""

_TIMES = {SEND: "start_ns", INVOKE: "start_ns", COMPLETE: "end_ns", RECEIVED: "end_ns"}
"""The time of this machine in a kind of record."""

_TIME_MAX_NS = 2**60
_NAMES_LOST_MAX = 1_000_000
"""A names file that lost its end had at most so many names more."""


@dataclass(frozen=True, slots=True)
class ClientLog:
    """What one client recorded.

    Attributes:
        client: its name.
        process: its process number.
        segments: its records in the order written, mapped from the files where these are intact.
        names: the names of ids 1, 2, ...; None for a damaged one.
        torn: number of torn records, which were skipped.
    """

    client: str
    process: int
    segments: tuple[Records, ...]
    names: tuple[str | None, ...]
    torn: int


def recover(folder: Path) -> list[ClientLog]:
    """Return the logs in a `wal` folder, sorted by process and name of their clients.

    Raises:
        BadInput: a segment, or the names that it refers to, is missing or has another format.
    """
    paths: dict[str, dict[int, Path]] = {}
    for path in folder.glob("*.wal"):
        client, _, index = path.stem.rpartition("-")
        if not index.isdecimal():
            raise BadInput(f"{path} is not a segment of a write-ahead log; move it out of {folder}")
        paths.setdefault(client, {})[int(index)] = path
    for path in folder.glob("*.names"):
        # Names are written before what refers to them: a client that died before it recorded anything has none.
        if path.stem not in paths and any(read_names(path)):
            raise BadInput(
                f"{folder / f'{path.stem}-0.wal'} is missing, though {path.name} has the names that it refers to. "
                "Restore the file, or run the scenario again"
            )
    logs = [_recover_client(folder, client, segments) for client, segments in paths.items()]
    return sorted(logs, key=lambda log: (log.process, log.client))


def _recover_client(folder: Path, client: str, paths: dict[int, Path]) -> ClientLog:
    missing = set(range(max(paths))) - set(paths)
    if missing:
        raise BadInput(
            f"segment {folder / f'{client}-{min(missing)}.wal'} is missing: the operations in it cannot be "
            "judged. Restore the file, or run the scenario again"
        )
    processes, segments, torn = [], [], 0
    # Newest first: otherwise a running client could fill a segment after we read it half-empty, and
    # continue in one that we would then read as its continuation.
    for index in sorted(paths, reverse=True):
        processes.append(_read_header(paths[index], client))
        records, dropped = _read_records(paths[index])
        segments.append(records)
        torn += dropped
    with reading(folder / f"{client}.names"):
        names = tuple(read_names(folder / f"{client}.names"))
    if not names and not (folder / f"{client}.names").exists() and any(segment["name"].any() for segment in segments):
        raise BadInput(
            f"{folder / f'{client}.names'} is missing: the topics in its logs are unknown. Restore the file, or run "
            "the scenario again"
        )
    written = sum(path.stat().st_size // RECORD_BYTES for path in paths.values())
    for index, records in zip(sorted(paths, reverse=True), segments, strict=True):
        if what := _impossible(records, written, len(names) + _NAMES_LOST_MAX):
            raise BadInput(
                f"{paths[index]} is damaged: {what}. Restore it from a copy, or run the scenario again: what else is "
                "wrong in it cannot be known"
            )
    return ClientLog(client, processes[0], tuple(segments[::-1]), names, torn)


def read_segment(path: Path, client: str) -> tuple[Records, int]:
    """Return the intact records of one segment of a client, in memory, and the number of torn ones.

    Raises:
        BadInput: it is not such a segment, or damaged.
    """
    _read_header(path, client)
    _, all_records, whole = _content(path)
    records = all_records if whole.all() else all_records[whole]
    torn = int(np.count_nonzero((all_records["kind"] != 0) & ~whole))
    if records["kind"].max(initial=0) > OBSERVED or records["code"].max(initial=0) >= max(_CODES.values()):
        raise BadInput(f"{path} is damaged: a record is of no known kind. Run the scenario again")
    return records, torn


def _impossible(records: Records, operations: int, names: int) -> str:
    """Return what no client can have recorded; empty if there is nothing."""
    kind = records["kind"]
    if kind.max(initial=SEND) > OBSERVED:
        return f"it has a record of kind {kind.max()}"
    numbers = records["op"][kind != AUDIT]
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < operations:
        return f"its operations are numbered from {numbers.min()} to {numbers.max()}"
    kinds = records["delivery"][is_named(records)]
    highest = max(*(records[field].max(initial=0) for field in ("name", "key")), kinds.max(initial=0))
    if highest > names or kinds.min(initial=1) < 1:
        return "it refers to a name that never was"
    for record_kind, codes in _CODES.items():
        if records["code"][kind == record_kind].max(initial=0) >= codes:
            return f"a record of kind {record_kind} has an unknown code"
    for record_kind, field in _TIMES.items():
        times = records[field][kind == record_kind]
        known = times[times != NO_TIME]
        if known.size and not -_TIME_MAX_NS < known.min() <= known.max() < _TIME_MAX_NS:
            return f"{field} of a record is {known.min() if known.min() < 0 else known.max()}"
    return ""


def _read_header(path: Path, client: str) -> int:
    """Return the process of a segment of `client`."""
    with reading(path), path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if len(header) == HEADER_BYTES:
        magic, version, process, length = HEADER.unpack_from(header)
        name = header[HEADER.size : HEADER.size + length]
        if (magic, version, name) == (MAGIC, VERSION, client.encode()):
            return int(process)
    raise BadInput(
        f"{path} is not a version {VERSION} log segment of client {client!r}. Read it with the chaoskit "
        "version that wrote it, or move it away if it belongs to another run"
    )


def _content(path: Path) -> tuple[npt.NDArray[np.uint8], Records, npt.NDArray[np.bool_]]:
    """Return what a segment holds, its records, and which of these are intact."""
    content = np.fromfile(path, dtype=np.uint8, offset=HEADER_BYTES)
    records = content[: len(content) - len(content) % RECORD_BYTES].view(RECORD)
    marks = HEADER_BYTES + RECORD_BYTES * np.arange(len(records), dtype=np.int64)
    return content, records, (records["mark"] == marks) & (records["kind"] != 0)


def _read_records(path: Path) -> tuple[Records, int]:
    """Return the intact records of a segment and the number of torn ones.

    The file is read first and only the intact part is mapped: a client that finishes in the meantime
    truncates its file, and accessing a mapping beyond the end would kill this process.
    """
    content, records, whole = _content(path)
    count = int(np.count_nonzero(whole))
    beyond = content[(int(np.flatnonzero(whole)[-1]) + 1) * RECORD_BYTES if count else 0 :]
    written = np.flatnonzero(beyond)
    tail = int(written[-1]) // RECORD_BYTES + 1 if len(written) else 0
    holes = (len(content) - len(beyond)) // RECORD_BYTES - count
    if holes:
        return records[whole], holes + tail
    if not count:
        return np.empty(0, dtype=RECORD), tail
    mapped = np.memmap(path, dtype=RECORD, mode="r", offset=HEADER_BYTES, shape=(count,))
    return np.asarray(mapped), tail
