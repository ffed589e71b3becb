"""Checks whether the preloaded clock works on this machine."""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from clusters.hosts.clock.library import clock_library

_HOUR_NS = 3600 * 10**9


def try_clock() -> str:
    """Run `date` with a clock that is one hour ahead.

    Raises:
        OSError, subprocess.SubprocessError, BadInput: it did not work.
    """
    with tempfile.TemporaryDirectory() as folder:
        library, words = Path(folder, "clock.so"), Path(folder, "clock")
        library.write_bytes(clock_library())
        words.write_bytes(struct.pack("<qqq", _HOUR_NS, 0, 0))
        env = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(library), "CHAOSKIT_CLOCK": str(words)}
        shown = subprocess.run(["date", "+%s%N"], env=env, text=True, capture_output=True, check=True, timeout=10)
    ahead_s = (int(shown.stdout) - time.time_ns()) / 1e9
    if abs(ahead_s - 3600) > 1:
        raise OSError(f"a clock that was set one hour ahead is {ahead_s:.1f} s ahead")
    return f"date was {ahead_s:,.1f} s ahead"
