"""Digests the write-ahead logs of a run while it lasts, and deletes what is digested (`record: latency`).

`digest/` has `load.json`; for each client its digest (`<client>.npz`), and what its segments added to the course of
the run (`course/<client>-<segment>.npz`). A digest names the next segment, and is written, durably, before the
segments before that one are deleted: a crash at any time loses nothing, and nothing counts twice.
"""

from __future__ import annotations

import fcntl
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from chaoskit.base import durable
from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading, shaped
from chaoskit.history.digesting.digest import Digest, Portion, digest
from chaoskit.history.digesting.routes import Routes
from chaoskit.history.format.intervals import Ints
from chaoskit.history.format.segment import room_in
from chaoskit.history.recording.names import read_names
from chaoskit.history.recording.recover import read_segment
from chaoskit.model.operation import AUDITOR

FOLDER = "digest"
_LOAD, _COURSE = "load.json", "course"
_UNFINISHED = 2
"""A client writes into its last segment but one; the last one is its reserve."""

_AT_ONCE = 16
"""Segments after which a digest is written."""


class _Load(TypedDict):
    routes: int
    start_ns: int


def begin(run_folder: Path, routes: int, start_ns: int) -> None:
    """Have the logs of a run digested.

    Args:
        run_folder: the run folder.
        routes: number of routes that each producer's messages take in turn.
        start_ns: start of the load, CLOCK_MONOTONIC.
    """
    folder = run_folder / FOLDER
    (folder / _COURSE).mkdir(parents=True)
    durable.write(folder / _LOAD, json.dumps({"routes": routes, "start_ns": start_ns}).encode())


def digested(run_folder: Path) -> bool:
    """Return whether the logs of a run are digested, instead of being compacted into a history."""
    return (run_folder / FOLDER / _LOAD).exists()


def require_history(run_folder: Path) -> None:
    """Check that a run has a history.

    Raises:
        BadInput: its logs were digested.
    """
    if digested(run_folder):
        raise BadInput(f"{run_folder} has no history: it was recorded with `record: latency`; run it without")


def routes_of(run_folder: Path) -> Routes:
    """Return the routes of a run's load.

    Raises:
        BadInput: the file is damaged.
    """
    return Routes(_load(run_folder)["routes"])


def take(run_folder: Path, *, all_segments: bool) -> None:
    """Digest the segments that clients have finished, and delete them.

    Args:
        run_folder: the run folder.
        all_segments: take what is unfinished, too: no client writes any more.

    Raises:
        BadInput: a segment is damaged.
        HistoryFull: there is no space; what is not digested is kept.
    """
    with (run_folder / FOLDER / _LOAD).open() as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        _take_all(run_folder, all_segments=all_segments)


def _take_all(run_folder: Path, *, all_segments: bool) -> None:
    segments: dict[str, list[tuple[int, Path]]] = {}
    for path in (run_folder / "wal").glob("*.wal"):
        client, _, number = path.stem.rpartition("-")
        segments.setdefault(client, []).append((int(number), path))
    for client, numbered_paths in segments.items():
        ready = sorted(numbered_paths) if all_segments else sorted(numbered_paths)[:-_UNFINISHED]
        for first in range(0, len(ready), _AT_ONCE):
            _take(run_folder, client, ready[first : first + _AT_ONCE])


def digests(run_folder: Path) -> list[Digest]:
    """Return the digests of all clients.

    Raises:
        BadInput: one is damaged.
    """
    return [_read(path) for path in sorted((run_folder / FOLDER).glob("*.npz"))]


def portions(run_folder: Path) -> Iterator[Portion]:
    """Yield what all segments added to the course of the run.

    Raises:
        BadInput: a file is damaged.
    """
    for path in sorted((run_folder / FOLDER / _COURSE).glob("*.npz")):
        with reading(path), np.load(path) as content:
            yield Portion(content["counts"], content["blocks"])


def courses(run_folder: Path) -> Iterator[tuple[str, Ints]]:
    """Yield the counts of all portions of the clients of the load, each with the client's name."""
    for path in sorted((run_folder / FOLDER / _COURSE).glob("*.npz")):
        client = path.stem.rpartition("-")[0]
        if not client.startswith(AUDITOR):
            with reading(path), np.load(path) as content:
                yield client, content["counts"]


def _take(run_folder: Path, client: str, ready: list[tuple[int, Path]]) -> None:
    folder, path = run_folder / FOLDER, run_folder / FOLDER / f"{client}.npz"
    state = _read(path) if path.exists() else Digest(client)
    fresh = [(number, segment) for number, segment in ready if number >= state.segment]
    if fresh:
        load, added = _load(run_folder), []
        routes, audits = Routes(load["routes"]), client.startswith(AUDITOR)
        state.names = read_names(run_folder / "wal" / f"{client}.names")
        for _, segment in fresh:
            records, torn = read_segment(segment, client)
            added.append(digest(state, records, routes, load["start_ns"], audits=audits))
            state.count("torn", torn)
        counts, blocks = (
            np.concatenate([getattr(portion, name) for portion in added]) for name in ("counts", "blocks")
        )
        first, state.segment = fresh[0][0], fresh[-1][0] + 1
        with room_in(run_folder):
            durable.write(folder / _COURSE / f"{client}-{first}.npz", _packed(counts=counts, blocks=blocks))
            durable.write(path, state.saved())
    for _, segment in ready:
        segment.unlink()


def _load(run_folder: Path) -> _Load:
    path = run_folder / FOLDER / _LOAD
    with reading(path):
        load: _Load = shaped(json.loads(path.read_bytes()), _Load)
        return load


def _packed(**arrays: Ints) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]  # numpy's stub takes the names for its flags
    return content.getvalue()


def _read(path: Path) -> Digest:
    with reading(path), np.load(path) as content:
        return Digest.loaded(content)
