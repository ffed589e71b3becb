"""The log of a run's drivers: which client ran on which, what their clocks showed, and what has been fetched.

Clients record times of their own machine. Here these become times of the harness: its clock and each driver's are
compared during the run (`chaoskit.base.clocks`). Between two comparisons the difference is interpolated.

`wal/drivers.jsonl` has one JSON object a line: `client` and `driver`; `driver`, `at_ns`, `ahead_ns`, `error_ns` and
`wall_ahead_ns` of a comparison; `gathered`, a driver whose logs are here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field
from typing_extensions import TypedDict

from chaoskit.base.errors import RunFailed
from chaoskit.base.reading import shaped
from chaoskit.history.format.record import COMPLETE, INVOKE, NO_TIME, RECEIVED, SEND, Records
from chaoskit.history.recording.recover import ClientLog
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.payload import OK

_FILE = "drivers.jsonl"
_WORSE = 2
"""A comparison that took this many times as long as the quickest one is left out."""

_DRIFT = 1e-4
"""Most by which two clocks drift apart between two comparisons; NTP disciplines clocks that are worse."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a driver's clock with the harness's.

    Attributes:
        at_ns: when, CLOCK_MONOTONIC of the harness.
        ahead_ns: by how much the driver's CLOCK_MONOTONIC was ahead.
        error_ns: by how much that may be wrong, in both directions.
        wall_ahead_ns: by how much its wall clock was ahead.
    """

    at_ns: int
    ahead_ns: int
    error_ns: int
    wall_ahead_ns: int


class DriverTold(TypedDict):
    """A driver as in verdict.json.

    Attributes:
        driver: its name.
        clients: the clients that ran there.
        ahead_s: by how much its CLOCK_MONOTONIC was ahead of the harness's at first, s.
        wall_ahead_s: by how much its wall clock was, s.
        uncertainty_ms: by how much converted times may be wrong, in both directions, ms.
    """

    driver: str
    clients: list[str]
    ahead_s: float
    wall_ahead_s: float
    uncertainty_ms: Annotated[float, Field(ge=0)]


def parse_drivers(content: bytes) -> list[DriverTold]:
    """Return drivers from their JSON.

    Raises:
        ValueError: it is something else.
    """
    drivers: list[DriverTold] = shaped(json.loads(content), list[DriverTold])
    return drivers


def apart_ns(drivers: Sequence[DriverTold]) -> int:
    """Return the most by which the times of two clients may be wrong against each other, ns."""
    return int(2e6 * max((driver["uncertainty_ms"] for driver in drivers), default=0))


class DriverLog:
    """Writes the log; once a call returns, its line survives `kill -9`.

    Args:
        wal: the run's `wal` folder.
    """

    def __init__(self, wal: Path) -> None:
        self._path = wal / _FILE

    def runs(self, client: str, driver: str) -> None:
        """Record, before it is started, where a client runs."""
        self._append({"client": client, "driver": driver})

    def compared(self, driver: str, comparison: Comparison) -> None:
        """Record a comparison."""
        times = {"at_ns": comparison.at_ns, "ahead_ns": comparison.ahead_ns, "error_ns": comparison.error_ns}
        self._append({"driver": driver, **times, "wall_ahead_ns": comparison.wall_ahead_ns})

    def gathered(self, driver: str) -> None:
        """Record that all logs of a driver are here."""
        self._append({"gathered": driver})

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class DriverClocks:
    """What the log says.

    Args:
        wal: the run's `wal` folder.

    Attributes:
        driver: the driver of each client that ran on one.
        comparisons: those of each driver.
    """

    def __init__(self, wal: Path) -> None:
        self.driver: dict[str, str] = {}
        self.comparisons: dict[str, list[Comparison]] = {}
        self._wal = wal
        self._gathered: set[str] = set()
        path = wal / _FILE
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            self._read(line)

    def require_gathered(self) -> None:
        """Raise `RunFailed` if logs are still on a driver."""
        if missing := sorted(set(self.driver.values()) - self._gathered):
            raise RunFailed(
                f"what clients recorded on {', '.join(missing)} is still there: `chaoskit heal` fetches it; then "
                f"`chaoskit check {self._wal.parent}` judges the run"
            )

    def aligned(self, logs: Sequence[ClientLog]) -> list[ClientLog]:
        """Return logs with all times as of the harness's clock."""
        if not self.driver:
            return list(logs)
        return [
            replace(log, segments=tuple(self._aligned(log.client, segment) for segment in log.segments)) for log in logs
        ]

    def told(self) -> list[DriverTold]:
        """Return the drivers as in verdict.json."""
        return [
            DriverTold(
                driver=name,
                clients=sorted(client for client, driver in self.driver.items() if driver == name),
                ahead_s=round(clock.ahead_ns / 1e9, 6),
                wall_ahead_s=round(clock.wall_ahead_ns / 1e9, 6),
                uncertainty_ms=round(clock.error_ns / 1e6, 3),
            )
            for name, clock in sorted(self._clocks.items())
        ]

    def _read(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:  # the torn last line of a harness that was killed
            return
        if "client" in entry:
            self.driver[entry["client"]] = entry["driver"]
        elif "gathered" in entry:
            self._gathered.add(entry["gathered"])
        else:
            self.comparisons.setdefault(entry.pop("driver"), []).append(Comparison(**entry))

    @cached_property
    def _clocks(self) -> dict[str, _Clock]:
        used = set(self.driver.values())
        return {name: _Clock(comparisons) for name, comparisons in self.comparisons.items() if name in used}

    def _aligned(self, client: str, records: Records) -> Records:
        aligned = records.copy()
        kind = aligned["kind"]
        clock = self._clocks.get(self.driver.get(client, ""))
        if clock is not None:
            sends = kind == SEND
            clock.align(aligned, "intended_ns", sends)
            clock.align(aligned, "start_ns", sends | (kind == INVOKE))
            clock.align(aligned, "end_ns", (kind == COMPLETE) | (kind == RECEIVED))
        received = (kind == RECEIVED) & (aligned["code"] == OK)
        producer = aligned["value"] >> PRODUCER_SHIFT
        for name, driver in self.driver.items():
            role, _, number = name.partition("-")
            sender = self._clocks.get(driver)
            if sender is not None and role == "producer" and number.isdecimal():
                theirs = received & (producer == int(number))
                sender.align(aligned, "intended_ns", theirs)
                sender.align(aligned, "start_ns", theirs)
        return aligned


class _Clock:
    """A driver's clock, from the comparisons with it."""

    def __init__(self, comparisons: Sequence[Comparison]) -> None:
        best_ns = min(comparison.error_ns for comparison in comparisons)
        good = [comparison for comparison in comparisons if comparison.error_ns <= _WORSE * best_ns]
        at_ns = np.array([comparison.at_ns for comparison in good], np.int64)
        ahead_ns = np.array([comparison.ahead_ns for comparison in good], np.int64)
        self.ahead_ns, self.wall_ahead_ns = good[0].ahead_ns, good[0].wall_ahead_ns
        self.error_ns = max(comparison.error_ns for comparison in good) + int(_DRIFT * np.diff(at_ns).max(initial=0))
        self._theirs = at_ns + ahead_ns
        self._drifted = (ahead_ns - self.ahead_ns).astype(np.float64)

    def align(self, records: Records, field: str, chosen: npt.NDArray[np.bool_]) -> None:
        """Convert times of this clock to those of the harness."""
        chosen = chosen & (records[field] != NO_TIME)
        theirs = records[field][chosen]
        # Differences to the first comparison: a float64 holds them, and not always a whole time, to the nanosecond.
        since = (theirs - self._theirs[0]).astype(np.float64)
        drifted = np.interp(since, (self._theirs - self._theirs[0]).astype(np.float64), self._drifted)
        records[field][chosen] = theirs - self.ahead_ns - drifted.astype(np.int64)
