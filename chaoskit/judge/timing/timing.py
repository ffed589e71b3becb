"""When the sends of a run were due, and when faults disturbed them.

A send is `under_faults` if it was due or open while a fault was, from its start to its proved healing; `after_faults`
if it was due soon after a healing, for as long as the fault had lasted, at least 2 s and at most 30 s; else `quiet`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints
from chaoskit.base.quantities import SECOND
from chaoskit.contract.workloads.workload import PRODUCER
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import history_file, open_file, read_operations
from chaoskit.judge.timing.recovery import read_recovery
from chaoskit.model.operation import AUDITOR, SENDING

AROUND_MIN_NS, AROUND_MAX_NS = 2 * SECOND, 30 * SECOND
"""The time after a fault is as long as the fault, within these bounds."""

PHASES = ("quiet", "under_faults", "after_faults")
QUIET, UNDER, AFTER = range(len(PHASES))

_STUCK_MIN_NS, _STUCK_MIN_SENDS = SECOND // 2, 3
"""A load that ends this long, and this many sends of one client, after the last send is stuck; less is a busy machine
or the end of the schedule."""

_BIN_MIN_NS, _BINS_MAX = 10_000_000, 20_000
_GRID_MAX = 600
_ENDLESS = np.iinfo(np.int64).max
_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Load:
    """When sends were due.

    Attributes:
        begin_ns, end_ns: the interval in which they were due, ns since the start of the run.
        last_ns: when the last one was made.
        every_ns: time between two sends of one client; 0: as fast as possible; None: not known.
        clients: number of clients that send.
    """

    begin_ns: int
    end_ns: int
    last_ns: int
    every_ns: float | None = None
    clients: int = 1

    @property
    def seconds(self) -> float:
        """How long sends were due."""
        return (self.end_ns - self.begin_ns) / SECOND

    @property
    def stuck_ns(self) -> int | None:
        """When a send was due after the last one that was made; None if none was missing for long enough to tell."""
        if self.every_ns is None:
            return None
        next_ns = max(self.last_ns, self.begin_ns) + int(self.every_ns)
        return next_ns if self.end_ns - next_ns >= max(_STUCK_MIN_NS, _STUCK_MIN_SENDS * self.every_ns) else None

    @property
    def sends_too_few_to_tell(self) -> float:
        """So many missing sends of all clients are a busy machine, or the end of the schedule; see `stuck_ns`."""
        return self.clients * max(_STUCK_MIN_NS / self.every_ns, _STUCK_MIN_SENDS) if self.every_ns else 0.0

    @property
    def due_per_s(self) -> float:
        """How many sends of all clients are due in a second; 0: as many as they can make, or it is not known."""
        return self.clients * SECOND / self.every_ns if self.every_ns else 0.0

    def due_by(self, times_ns: Ints) -> Ints:
        """Return how many sends of all clients were due before each time of the load."""
        if not self.every_ns:
            return np.zeros(times_ns.size, np.int64)
        due: Ints = self.clients * np.ceil((times_ns - self.begin_ns) / self.every_ns).astype(np.int64)
        return due

    @property
    def grid_ns(self) -> int:
        """Width of the bins by which times of the load are compared: whole seconds, at most 600 bins."""
        return SECOND * max(1, -(-(self.end_ns - self.begin_ns) // (_GRID_MAX * SECOND)))

    @property
    def grid(self) -> Ints:
        """The edges of these bins, from the begin to the end of the load; the last one may not be whole."""
        return np.append(np.arange(self.begin_ns, self.end_ns, self.grid_ns), self.end_ns)

    @property
    def bin_ns(self) -> int:
        """Precision of the times at which sends that were never made were due."""
        return max(_BIN_MIN_NS, (self.end_ns - self.begin_ns) // _BINS_MAX)

    def bins(self, due_ns: Ints) -> Ints:
        """Return the bin of each time within the load; others are left out."""
        inside = due_ns[(due_ns >= self.begin_ns) & (due_ns < self.end_ns)]
        numbers: Ints = (inside - self.begin_ns) // self.bin_ns
        return numbers

    def never_made(self, bins: Ints, made: Ints) -> tuple[Ints, Ints]:
        """Return when sends that were never made were due, and how many: one entry for each bin with such sends.

        What a client that was started again owes or makes too early by a part of its interval is no such send: only
        what was not made up for until the end of the load counts.

        Args:
            bins: numbers of bins.
            made: number of messages due in each of them that were sent.
        """
        if not self.every_ns or self.end_ns <= self.begin_ns:
            return _NOTHING, _NOTHING
        edges = np.append(np.arange(0, self.end_ns - self.begin_ns, self.bin_ns)[1:], self.end_ns - self.begin_ns)
        due = self.due_by(self.begin_ns + edges)
        sent = np.cumsum(np.bincount(bins, weights=made, minlength=edges.size).astype(np.int64))
        owed = np.maximum(np.minimum.accumulate((due - sent)[::-1])[::-1], 0)
        missing = np.diff(owed, prepend=0)
        chosen = np.flatnonzero(missing)
        middle_ns = self.begin_ns + chosen * self.bin_ns + self.bin_ns // 2
        return np.minimum(middle_ns, self.end_ns), missing[chosen]


@dataclass(frozen=True, slots=True)
class FaultTimes:
    """When a fault began, when it began to be undone, and when it was proved healed; None if it was not; and the
    producers that it hit, if it hit clients."""

    start_ns: int
    heal_ns: int | None = None
    healed_ns: int | None = None
    producers: frozenset[str] = frozenset()

    @property
    def over_ns(self) -> int:
        """When it was proved healed; later than anything if it was not."""
        return _ENDLESS if self.healed_ns is None else self.healed_ns


@dataclass(frozen=True, slots=True)
class Timing:
    """The times by which a run's sends are told apart.

    Attributes:
        load: when sends were due.
        faults: the faults, by number.
        windows: further intervals to measure.
        edges: instants between which sends are counted apart: those of `Load.grid`, and of the windows.
    """

    load: Load
    faults: tuple[FaultTimes, ...] = ()
    windows: tuple[tuple[int, int], ...] = ()
    edges: Ints = field(init=False)

    def __post_init__(self) -> None:
        edges = [*self.load.grid.tolist(), *(edge for window in self.windows for edge in window)]
        object.__setattr__(self, "edges", np.unique(np.array(edges, np.int64)))

    def phases(self, due_ns: Ints, done_ns: Ints) -> Ints:
        """Return the number in `PHASES` of each send, given when it was due and when it was completed or given up."""
        phase = np.full(due_ns.size, QUIET, np.int64)
        healed = [
            (fault.healed_ns, fault.healed_ns - fault.start_ns) for fault in self.faults if fault.healed_ns is not None
        ]
        begins, ends = merged((healed_ns, healed_ns + around_ns(lasted_ns)) for healed_ns, lasted_ns in healed)
        phase[begins[np.searchsorted(ends, due_ns, side="right")] <= due_ns] = AFTER
        begins, ends = merged((fault.start_ns, fault.over_ns) for fault in self.faults)
        phase[begins[np.searchsorted(ends, due_ns, side="right")] <= done_ns] = UNDER
        return phase

    def soon_ns(self, instant_ns: int) -> int:
        """Return until when a send due after an instant shows what held then: until the next fault, or for a while."""
        following = [fault.start_ns for fault in self.faults if fault.start_ns > instant_ns]
        return min([*following, instant_ns + AROUND_MAX_NS])


def around_ns(fault_ns: int) -> int:
    """Return how long the time before or after a fault of this duration is."""
    return min(max(fault_ns, AROUND_MIN_NS), AROUND_MAX_NS)


def faults_of(faults: Sequence[Fault]) -> tuple[FaultTimes, ...]:
    """Return when the faults of a run began and ended, and which producers each hit."""
    return tuple(
        FaultTimes(fault.start_ns, fault.heal_ns, fault.healed_ns, _producers(fault.targets)) for fault in faults
    )


def _producers(targets: Sequence[str]) -> frozenset[str]:
    clients = (target.partition("#")[0] for target in targets)
    return frozenset(client for client in clients if client.rpartition("-")[0] == PRODUCER)


def load_of(folder: Path) -> Load:
    """Return when the sends of a run were due.

    If the run did not record that, because it was killed or imported, they were due as long as some were made.
    """
    recovery = read_recovery(folder)
    begin_ns = recovery.get("load_start_ns", 0)
    first_ns, last_ns = sending_extent(folder / "operations.parquet", begin_ns)
    planned = recovery.get("load")
    if planned is None:
        return Load(first_ns, last_ns, last_ns)
    end_ns, paced = planned["end_ns"], planned["paced"]
    if paced is None:
        return Load(begin_ns, end_ns, last_ns)
    clients, per_second = paced["clients"], paced["per_second"]
    return Load(begin_ns, end_ns, last_ns, SECOND * clients / per_second if per_second else 0.0, clients)


def sending_extent(path: Path, load_start_ns: int) -> tuple[int, int]:
    """Return when the first and the last send of the load began; (0, 0) if there are none.

    Reads only row groups that, according to their statistics, may hold one of the two.
    """
    extents = _extents(path)
    begin: int | None = None
    for low, high, group in sorted(extents):
        if begin is not None and low >= begin:
            break
        if high >= load_start_ns and (starts := _starts(path, group, load_start_ns)).size:
            begin = min(int(starts.min()), begin) if begin is not None else int(starts.min())
    end: int | None = None
    for _, high, group in sorted(extents, key=lambda extent: -extent[1]):
        if begin is None or (end is not None and high <= end):
            break
        if (starts := _starts(path, group, load_start_ns)).size:
            end = max(int(starts.max()), end) if end is not None else int(starts.max())
    return (begin, end) if begin is not None and end is not None else (0, 0)


def _extents(path: Path) -> list[tuple[int, int, int]]:
    """Return the first and the last start of each row group, and its number."""
    extents = []
    with history_file(path):
        file = open_file(path)
        column = file.schema_arrow.get_field_index("start_ns")
        for group in range(file.num_row_groups):
            statistics = file.metadata.row_group(group).column(column).statistics
            extents.append((int(statistics.min), int(statistics.max), group))
    return extents


def _starts(path: Path, group: int, load_start_ns: int) -> Ints:
    table = read_operations(path, [group], ["f", "client", "start_ns"])
    sends = pc.is_in(table["f"].cast(pa.string()), value_set=pa.array(SENDING))
    chosen = pc.and_(sends, pc.not_equal(table["client"].cast(pa.string()), AUDITOR))
    starts: Ints = table["start_ns"].to_numpy()[chosen.to_numpy()]
    return starts[starts >= load_start_ns]


def merged(spans: Iterable[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Return the begins and ends of intervals, ascending; those that overlap are one. One more never begins."""
    begins: list[int] = []
    ends: list[int] = []
    for begin_ns, end_ns in sorted(spans):
        if ends and begin_ns <= ends[-1]:
            ends[-1] = max(ends[-1], end_ns)
        else:
            begins.append(begin_ns)
            ends.append(end_ns)
    return np.array([*begins, _ENDLESS], np.int64), np.array(ends, np.int64)
