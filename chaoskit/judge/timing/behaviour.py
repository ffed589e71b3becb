"""What the clients of a load experienced while each fault held, beside what they experienced outside of faults.

The load is cut into bins of a second or more. A fault changed something only if it is beyond the spread of the bins
outside of faults by a clear margin: a busy machine alone makes latencies vary. The margins are those of `_BEYOND`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Flags, Ints, percentiles_of
from chaoskit.base.quantities import MILLISECOND
from chaoskit.judge.timing.bins import placed
from chaoskit.judge.timing.counts import total
from chaoskit.judge.timing.timing import QUIET, FaultTimes, Timing, around_ns

Floats = npt.NDArray[np.float64]

_POINTS = {"p50_ms": 50.0, "p99_ms": 99.0, "max_ms": 100.0}
_BEYOND = {"p50_ms": (2.0, 2.0), "p99_ms": (2.0, 10.0)}
"""A percentile is beyond its spread if the median of its bins is above the worst bin outside of faults, by a factor and
then by so many milliseconds."""

_WAITED_TIMES, _WAITED_MORE_MS = 3.0, 1000.0
"""A message waited for its reader if it took so many times as long as any outside of faults, and so much more."""

_MORE = 1.5
"""Sends that were not acknowledged are more than usual if their part is so many times as large."""

_FEWER = 0.5
"""Acknowledgements are fewer if the median of the bins is below this part of the worst bin outside of faults."""

_DEGRADED, _DEGRADED_BINS = 0.1, 2
"""A load was degraded in bins with less than this part of the acknowledgements of the worst bin outside of faults, if
there are so many."""

_ARRIVED = 0.8
"""Fewer of the messages arrived if their part is below this part of the smallest one outside of faults."""

_STALLED_NS, _STALLED_TIMES = 500 * MILLISECOND, 3
"""A load stalled if no send was acknowledged for so long, and for so many times as long as outside of faults."""

_QUIET_MIN = 2
"""With fewer bins outside of faults nothing is compared."""


@dataclass(frozen=True, slots=True)
class _Bins:
    """The figures of each bin; percentiles are NaN where there are none. `arrived` counts receives of messages by when
    these were due. `usually_open` is the part of the sends that
    were not acknowledged, of those that were neither due nor open under a fault."""

    due: Ints
    acked: Ints
    acks: Ints
    arrived: Ints
    send: dict[str, Floats]
    end_to_end: dict[str, Floats]
    usually_open: float


def behaviour(counts: pa.Table, waits: pa.Table, timing: Timing) -> list[dict[str, Any] | None]:
    """Return for each fault what clients experienced beyond its spread; empty: nothing; None: nobody can tell.

    `not_acknowledged` is a number of sends, `stalled_ms` the longest time without an acknowledged send, `degraded_ms`
    for how long in all hardly any were acknowledged, `unheard_ms` the longest time in which a reader received nothing
    of what had been acknowledged. `send` and `end_to_end` have percentiles in ms, `acks_per_s` and
    `arrived_per_s` (receives of what was due then) have rates, `waited_ms` is the longest way to a reader, if only few
    took so long: each as outside of faults and as under the fault.

    Args:
        counts: COUNTS of the run, with at least the edges of `Load.grid`.
        waits: WAITS of the run.
        timing: what they were measured with.
    """
    if not timing.faults or timing.load.end_ns <= timing.load.begin_ns:
        return [None] * len(timing.faults)
    bins = _binned(counts, timing)
    held = [_overlapping(timing, fault.start_ns, _end_ns(fault, timing)) for fault in timing.faults]
    around = [_around(fault, timing) for fault in timing.faults]
    quiet = ~np.logical_or.reduce([_overlapping(timing, *span) for span in around])
    quiet[[0, -1]] = False  # connections are made in the first one, and the last one is not whole
    stalled = _stood_ns(waits, ("fault", "long"), timing, around)
    unheard = _stood_ns(waits, ("unheard-fault", "unheard-long"), timing, around)
    return [
        _of_fault(number, *measured, quiet, bins, timing)
        for number, measured in enumerate(zip(held, stalled, unheard, strict=True))
    ]


def _of_fault(  # noqa: PLR0917 - what is known of one fault
    number: int, held: Flags, stalled_ns: int, unheard_ns: int, quiet: Flags, bins: _Bins, timing: Timing
) -> dict[str, Any] | None:
    experienced: dict[str, Any] = {}
    if not held.any():
        return None
    if not (stalled_ns or unheard_ns) and not bins.due[held].any():
        return None  # nothing was sent that could have shown anything
    if not_acked := _not_acknowledged(held, bins.usually_open, bins):
        experienced["not_acknowledged"] = not_acked
    if stalled_ns:
        experienced["stalled_ms"] = round(stalled_ns / 1e6, 1)
    if unheard_ns:
        experienced["unheard_ms"] = round(unheard_ns / 1e6, 1)
    fault = timing.faults[number]
    whole = _overlapping(timing, fault.start_ns, _end_ns(fault, timing), whole=True) & held
    held = whole if whole.any() else held
    before = quiet & (np.arange(quiet.size) < int(np.flatnonzero(held)[0]))
    quiet = before if np.count_nonzero(before) >= _QUIET_MIN else quiet
    if np.count_nonzero(quiet) < _QUIET_MIN:
        return experienced or None
    for name, series in (("send", bins.send), ("end_to_end", bins.end_to_end)):
        if slower := dict(_slower(series, held, quiet)):
            experienced[name] = slower
    if not experienced.keys() & {"stalled_ms", "unheard_ms", "end_to_end"}:
        experienced |= _waited(bins.end_to_end["max_ms"], held, quiet)
    return experienced | dict(_fewer(held, quiet, bins, timing.load.grid_ns))


def _fewer(held: Flags, quiet: Flags, bins: _Bins, grid_ns: int) -> Iterator[tuple[str, Any]]:
    """Yield what fewer acknowledgements, and fewer receives, there were."""
    usual, under = float(bins.acks[quiet].min()), float(np.median(bins.acks[held]))
    per_s = 1e9 / grid_ns
    if under < _FEWER * usual:
        yield "acks_per_s", [round(usual * per_s, 1), round(under * per_s, 1)]
    degraded = int((bins.acks[held] < _DEGRADED * usual).sum())
    if degraded >= _DEGRADED_BINS:
        yield "degraded_ms", degraded * grid_ns / 1e6
    acked = bins.acked > 0
    usually, now = (bins.arrived[some & acked] / bins.acked[some & acked] for some in (quiet, held))
    if usually.size and now.size and float(np.median(now)) < _ARRIVED * float(usually.min()):
        rates = (float(bins.arrived[some].mean()) * per_s for some in (quiet, held))
        yield "arrived_per_s", [round(rate, 1) for rate in rates]


def _waited(longest: Floats, held: Flags, quiet: Flags) -> dict[str, list[float]]:
    """Return how long the slowest message took to its reader, outside of faults and of those due under one, if nothing
    but some few messages waited."""
    usual, under = (float(np.nanmax(longest[some], initial=0.0)) for some in (quiet, held))
    if under <= _WAITED_TIMES * usual + _WAITED_MORE_MS:
        return {}
    return {"waited_ms": [round(usual, 3), round(under, 3)]}


def _slower(series: dict[str, Floats], held: Flags, quiet: Flags) -> Iterator[tuple[str, list[float]]]:
    for name, (factor, more_ms) in _BEYOND.items():
        usual, under = (values[~np.isnan(values)] for values in (series[name][quiet], series[name][held]))
        if usual.size and under.size and float(np.median(under)) > factor * float(usual.max()) + more_ms:
            yield name, [round(float(usual.max()), 3), round(float(np.median(under)), 3)]


def _not_acknowledged(held: Flags, usual: float, bins: _Bins) -> int:
    """Return how many sends that were due under a fault were not acknowledged, if it is a larger part than usual."""
    count, due = int((bins.due - bins.acked)[held].sum()), int(bins.due[held].sum())
    return count if count and count / due > _MORE * usual else 0


def _stood_ns(waits: pa.Table, of: tuple[str, str], timing: Timing, around: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each fault how long something stood still that did not before the fault; 0 if it did not.

    Args:
        waits: WAITS of the run.
        of: which of them are the longest of a fault, and which are all long ones.
        timing: what they were measured with.
        around: from when to when nothing is outside of each fault.
    """
    of_fault, of_all = of
    long = waits.filter(pc.equal(waits["of"], of_all))
    begin_ns, end_ns = (long[name].to_numpy() for name in ("begin_ns", "end_ns"))
    lasted_ns, outside = end_ns - begin_ns, np.ones(begin_ns.size, np.bool_)
    for first_ns, last_ns in around:
        outside &= (begin_ns < first_ns) | (begin_ns >= last_ns)
    least_ns = max(_STALLED_NS, _STALLED_TIMES * int(lasted_ns[outside].max(initial=0)))
    durations_ns = []
    for number, fault in enumerate(timing.faults):
        own = waits.filter(pc.and_(pc.equal(waits["of"], of_fault), pc.equal(waits["number"], number)))
        own_begin_ns, own_end_ns = (own[name].to_numpy() for name in ("begin_ns", "end_ns"))
        soon = own_begin_ns >= fault.start_ns - timing.load.grid_ns
        under = (begin_ns >= fault.start_ns) & (begin_ns < _end_ns(fault, timing))
        longest_ns = max((own_end_ns - own_begin_ns)[soon].max(initial=0), lasted_ns[under].max(initial=0))
        durations_ns.append(int(longest_ns) if longest_ns >= least_ns else 0)
    return durations_ns


def _end_ns(fault: FaultTimes, timing: Timing) -> int:
    return timing.load.end_ns if fault.healed_ns is None else max(fault.healed_ns, fault.start_ns + 1)


def _around(fault: FaultTimes, timing: Timing) -> tuple[int, int]:
    end_ns = _end_ns(fault, timing)
    return fault.start_ns, end_ns + around_ns(end_ns - fault.start_ns)


def _overlapping(timing: Timing, start_ns: int, end_ns: int, *, whole: bool = False) -> Flags:
    """Return the bins of the load that overlap an interval, or that are in it as a whole."""
    grid = timing.load.grid
    begins, ends = grid[:-1], grid[1:]
    flags: Flags = (begins >= start_ns) & (ends <= end_ns) if whole else (begins < end_ns) & (ends > start_ns)
    return flags


def _binned(counts: pa.Table, timing: Timing) -> _Bins:
    size = timing.load.grid.size - 1

    def summed(series: str) -> Ints:
        at, _, count = placed(counts, series, timing)
        return np.bincount(at, weights=count, minlength=size).astype(np.int64)

    took, gave_up = (total(counts, series, QUIET) for series in ("took", "gave_up"))
    return _Bins(
        due=summed("due"),
        acked=summed("send"),
        acks=summed("acked"),
        arrived=summed("travelled"),
        send=_percentiles(*placed(counts, "send", timing), size),
        end_to_end=_percentiles(*placed(counts, "travelled", timing), size),
        usually_open=gave_up / max(took + gave_up, 1),
    )


def _percentiles(at: Ints, bucket: Ints, count: Ints, size: int) -> dict[str, Floats]:
    percentiles = {name: np.full(size, np.nan) for name in _POINTS}
    order = np.lexsort((bucket, at))
    at, bucket, count = at[order], bucket[order], count[order]
    begins = np.searchsorted(at, np.arange(size + 1))
    for index in np.unique(at).tolist():
        part = slice(begins[index], begins[index + 1])
        for name, value in percentiles_of(bucket[part], count[part], _POINTS).items():
            percentiles[name][index] = value
    return percentiles
