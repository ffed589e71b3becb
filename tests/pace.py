"""Prints how fast this machine is in this minute, to be read beside the time of the tests.

python tests/pace.py
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from chaoskit.base.state import state_folder

_ADDITIONS = 5_000_000
_FSYNCS = 1000


def loop_s() -> float:
    """Return the seconds that a loop of 5 million additions takes."""
    began, total = time.perf_counter(), 0
    for number in range(_ADDITIONS):
        total += number
    return time.perf_counter() - began


def fsyncs_s(folder: Path) -> float:
    """Return the seconds that 1,000 writes of 100 bytes, each with an fsync, take in a folder."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        began = time.perf_counter()
        for _ in range(_FSYNCS):
            file.write(bytes(100))
            os.fsync(file.fileno())
        return time.perf_counter() - began


def main() -> None:
    """Print one line."""
    folder = next(folder for folder in (state_folder(), *state_folder().parents) if os.access(folder, os.W_OK))
    print(
        f"reference: {fsyncs_s(folder):.2f} s for 1,000 fsyncs in {folder}, {loop_s():.2f} s for 5 million additions, "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
