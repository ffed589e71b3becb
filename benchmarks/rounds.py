"""The rate and the memory of a checker, over several rounds on the same history."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from chaoskit.contract.checkers.checker import Part


def measured(
    check: Callable[[Part], pa.Table], part: Callable[[], Part], count: int, rounds: int
) -> tuple[dict[str, int], float]:
    """Check new parts of a correct history, one a round.

    Returns:
        rates per second of CPU (the median, the first one, the lowest), and bytes per row: the growth of the process's
        peak resident size over that of the tables alone (Linux).
    """
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of building the tables
    before_bytes, rates = _status_bytes("VmRSS"), []
    for _ in range(rounds):
        given = part()
        started_s = time.process_time()
        findings = check(given)
        rates.append(round(count / (time.process_time() - started_s)))
        assert findings.num_rows == 0, findings.to_pylist()[:3]
    figures = {"median": round(statistics.median(rates)), "first": rates[0], "lowest": min(rates)}
    return figures, round((_status_bytes("VmHWM") - before_bytes) / count, 1)


def _status_bytes(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"{name}:\s+(\d+) kB", status)[0]) * 1024
