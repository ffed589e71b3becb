"""The start of a run: it converts the absolute times of the logs to times of the run.

`wal/origin.json` also stores the wall-clock time at the start, the boot id that CLOCK_MONOTONIC refers to, and the id
that is in the payload of each message of the run.
"""

from __future__ import annotations

import json
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from chaoskit.base import durable
from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading, shaped

_FILE = "origin.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class _Origin(TypedDict):
    monotonic_ns: Annotated[int, Field(ge=0, lt=2**62)]
    run_id: NotRequired[Annotated[int, Field(ge=0, lt=2**63)]]


def write_origin(folder: Path) -> int:
    """Record the current time as the start of the run, durably; return it as CLOCK_MONOTONIC ns.

    Args:
        folder: the run's `wal` folder, which must exist.
    """
    origin_ns = time.monotonic_ns()
    content = {
        "monotonic_ns": origin_ns,
        "wall": datetime.now(UTC).isoformat(),
        "run_id": secrets.randbits(63),
        "boot": _BOOT_ID.read_text(encoding="ascii").strip(),
    }
    durable.write(folder / _FILE, json.dumps(content).encode())
    return origin_ns


def read_origin(folder: Path) -> int:
    """Return the start of the run, CLOCK_MONOTONIC ns.

    Raises:
        BadInput: the file is missing or damaged.
    """
    return _read(folder)["monotonic_ns"]


def read_run_id(folder: Path) -> int:
    """Return the id that is in the payload of each message of the run.

    Raises:
        BadInput: the file is missing or damaged, or older than such ids.
    """
    origin = _read(folder)
    if "run_id" not in origin:
        raise BadInput(f"{folder / _FILE} has no run_id: an older chaoskit recorded it; run the scenario again")
    return origin["run_id"]


def _read(folder: Path) -> _Origin:
    path = folder / _FILE
    if not path.exists():
        raise BadInput(f"{path} is missing: no run was started there. Specify a run folder (STORE/<scenario>/<run>)")
    with reading(path, "Without it the times in the logs are unknown; run the scenario again"):
        origin: _Origin = shaped(json.loads(path.read_bytes()), _Origin)
        return origin
