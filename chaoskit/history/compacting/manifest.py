"""The digests of the files in a run folder: damage is noticed before anything is concluded from it.

What the run recorded is sealed once, when the history is complete; what `chaoskit check` derives from it, each time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from chaoskit.base import durable, store
from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading, shaped
from chaoskit.history.format.segment import room_in

FILE = "manifest.json"
RECORDED, JUDGED = "recorded", "judged"

_FILES = {
    RECORDED: (
        "operations.parquet", "messages.parquet/*", "observations.parquet/*", "faults.parquet", "placements.parquet",
        store.SCENARIO, store.TIMELINE, store.RECOVERY, store.DEPLOYMENT, store.EFFECTIVE,
        store.MACHINE, "digest/*", "digest/course/*",
    ),
    JUDGED: ("findings.parquet", store.VERDICT, store.EXPOSURE, "latency/*"),
}  # fmt: skip
_REMEDY = {
    RECORDED: f"Restore it from a copy; or delete {FILE} to judge the folder as it is",
    JUDGED: "Run `chaoskit check` on the folder to judge it again",
}


def seal(folder: Path, part: str) -> None:
    """Write the digests of one part of a run folder, durably; those of the other part stay.

    Raises:
        BadInput: there is a manifest, and it is damaged.
        HistoryFull: there is no space for it.
    """
    files = (path for pattern in _FILES[part] for path in sorted(folder.glob(pattern)) if path.is_file())
    digests = {str(path.relative_to(folder)): _digest(path) for path in files}
    content = {**_read(folder), part: digests}
    with room_in(folder):
        durable.write(folder / FILE, (json.dumps(content, indent=1) + "\n").encode())


def verify(folder: Path, *parts: str) -> None:
    """Compare parts of a run folder with its manifest; what it does not mention is not checked.

    Raises:
        BadInput: a file is missing or differs, or the manifest is damaged.
    """
    for part in parts:
        if damage := damaged(folder, part):
            raise BadInput(f"{damage}. {_REMEDY[part]}")


def damaged(folder: Path, part: str) -> str:
    """Return which file of a part is missing or differs from the manifest; empty if none.

    Raises:
        BadInput: the manifest is damaged.
    """
    for name, digest in _read(folder).get(part, {}).items():
        if not (folder / name).is_file():
            return f"{folder / name} is missing, but {FILE} names it"
        if _digest(folder / name) != digest:
            return f"{folder / name} was changed: its digest is not the one in {FILE}"
    return ""


def _read(folder: Path) -> dict[str, Mapping[str, str]]:
    path = folder / FILE
    if not path.exists():
        return {}
    with reading(path, _REMEDY[RECORDED]):
        content = shaped(json.loads(path.read_bytes()), dict[str, dict[str, str]])
    return {part: content.get(part, {}) for part in _FILES}


def _digest(path: Path) -> str:
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
