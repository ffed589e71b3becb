"""When a run began: what turns the absolute times of its logs into times of the run.

`wal/origin.json` also keeps the wall-clock time, once, and the boot to which CLOCK_MONOTONIC belongs.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

from chaoskit.base import durable
from chaoskit.base.errors import BadInput

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def write_origin(folder: Path) -> int:
    """Declare this moment the start of the run, durably; return it as CLOCK_MONOTONIC ns.

    Args:
        folder: the run's `wal` folder, which exists.
    """
    origin_ns = time.monotonic_ns()
    content = {
        "monotonic_ns": origin_ns,
        "wall": datetime.now(UTC).isoformat(),
        "boot": _BOOT_ID.read_text(encoding="ascii").strip(),
    }
    durable.write(folder / "origin.json", json.dumps(content).encode())
    return origin_ns


def read_origin(folder: Path) -> int:
    """Return the start of the run, CLOCK_MONOTONIC ns.

    Raises:
        BadInput: there is none, or it is damaged.
    """
    path = folder / "origin.json"
    try:
        return int(json.loads(path.read_bytes())["monotonic_ns"])
    except FileNotFoundError:
        raise BadInput(
            f"{path} is missing: no run began there. Name the folder of a run (STORE/<scenario>/<run>)"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{path} is damaged ({error}), so no time in the logs can be told. Run the scenario again"
        ) from error
